export { createClient, type CallOptions, type Client, type Options } from "./client.js";
export { StowageError, type FieldViolation } from "./error.js";
export { Objects, ObjectsError, type Answer, type AskOptions, type ObjectsOptions, type Problem, type Verb } from "./objects.js";
export { Snapshot } from "./snapshot.js";
export type { Documents } from "./gen/documents.js";
export { PlacementService } from "./gen/stowage/v1/placement_service_pb.js";
export { SimulationService } from "./gen/stowage/v1/simulation_service_pb.js";
