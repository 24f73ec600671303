import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "./client.js";
import { StowageError } from "./error.js";
import type { ClusterSchema } from "./gen/stowage/v1/cluster_pb.js";
import type { PlacementService } from "./gen/stowage/v1/placement_service_pb.js";
import type { ClusterDeltaSchema } from "./gen/stowage/v1/snapshot_pb.js";

type Cluster = MessageInitShape<typeof ClusterSchema>;
type Delta = MessageInitShape<typeof ClusterDeltaSchema>;
type Placement = Client<typeof PlacementService>;

/**
 * A cluster that is put to the server when the server does not have it. Calls have its address only. The server computes addresses, also
 * of clusters that differ by a delta.
 */
export class Snapshot {
  #known: Promise<string> | undefined;
  private constructor(private readonly client: Placement, private readonly content: { cluster: Cluster } | { base: Snapshot; delta: Delta }) {}

  static of(client: Placement, cluster: Cluster): Snapshot { return new Snapshot(client, { cluster }); }

  /** The snapshot with a difference. The server gets the difference only. */
  with(delta: Delta): Snapshot { return new Snapshot(this.client, { base: this, delta }); }

  /** The content address. The snapshot is put if nothing has been put yet. */
  address(): Promise<string> {
    this.#known ??= this.put().catch((e: unknown) => { this.#known = undefined; throw e; });
    return this.#known;
  }

  /** Makes a call about the snapshot: the function gets the base of a context. If the server has dropped the snapshot, it is put again. */
  async ask<T>(call: (base: { case: "snapshot"; value: { address: string; delta?: Delta } }) => Promise<T>, delta?: Delta): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const value = { address: await this.address(), ...(delta && { delta }) };
      try {
        return await call({ case: "snapshot", value });
      } catch (e) {
        if (attempt >= 3 || !isUnknown(e)) throw e;
        this.#known = undefined;
      }
    }
  }

  private async put(): Promise<string> {
    const c = this.content;
    const steps = "cluster" in c
      ? async () => [{ step: { case: "part" as const, value: c.cluster } }]
      : async () => [{ step: { case: "baseAddress" as const, value: await c.base.address() } }, { step: { case: "delta" as const, value: c.delta } }];
    for (let attempt = 0; ; attempt++) {
      try {
        return (await this.client.putSnapshot([...(await steps()), { step: { case: "end", value: {} } }])).address;
      } catch (e) {
        if (attempt >= 3 || !isUnknown(e) || !("base" in c)) throw e;
        c.base.#known = undefined;
      }
    }
  }
}

function isUnknown(e: unknown): boolean { return e instanceof StowageError && e.reason === "UNKNOWN_SNAPSHOT"; }
