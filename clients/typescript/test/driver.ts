// Calls methods for a test: a line of standard input is a call, with the messages of its request in JSON, and a line of standard output its
// answer. bench/clients runs the corpora through it.
import { createInterface } from "node:readline";
import { fromJson, toJson, type DescMethod, type JsonValue } from "@bufbuild/protobuf";
import { createClient, PlacementService, SimulationService, StowageError } from "../src/index.js";

const url = process.argv[2]!;
const methods = new Map<string, { m: DescMethod; call: (r: unknown) => Promise<unknown> | AsyncIterable<unknown> }>();
for (const service of [PlacementService, SimulationService]) {
  const client = createClient(service, { url }) as unknown as Record<string, (r: unknown) => Promise<unknown>>;
  for (const m of service.methods) methods.set(`/${service.typeName}/${m.name}`, { m, call: client[m.localName]! });
}

async function answer(line: string): Promise<object> {
  const asked = JSON.parse(line) as { method: string; messages: JsonValue[] };
  const { m, call } = methods.get(asked.method)!;
  const requests = asked.messages.map((r) => fromJson(m.input, r));
  const messages: JsonValue[] = [];
  try {
    if (m.methodKind === "server_streaming") {
      for await (const part of call(requests[0]) as AsyncIterable<object>) messages.push(toJson(m.output, part as never));
    } else {
      messages.push(toJson(m.output, (await call(m.methodKind === "unary" ? requests[0] : requests)) as never));
    }
  } catch (e) {
    if (!(e instanceof StowageError)) throw e;
    return { messages, error: { code: e.code, message: e.message, details: e.details } };
  }
  return { messages };
}

for await (const line of createInterface({ input: process.stdin })) process.stdout.write(JSON.stringify(await answer(line)) + "\n");
