import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "./client.js";
import { StowageError } from "./error.js";
import type { ClusterSchema } from "./gen/stowage/v1/cluster_pb.js";
import type { PlacementService } from "./gen/stowage/v1/placement_service_pb.js";
import type { ClusterDeltaSchema } from "./gen/stowage/v1/snapshot_pb.js";

type Cluster = MessageInitShape<typeof ClusterSchema>;
type Delta = MessageInitShape<typeof ClusterDeltaSchema>;
type Placement = Client<typeof PlacementService>;

/** The base of a context, by its address. */
type Base = { case: "snapshot"; value: { address: string; delta?: Delta } };

/**
 * A cluster that is put to the server when the server does not have it. Calls have its address only. The server computes addresses, also
 * of clusters that differ by a delta.
 */
export class Snapshot {
  /** The put whose address calls have. Calls that fail at the same time forget it once, so the cluster is put again once. */
  #put: Promise<string> | undefined;
  private constructor(private readonly client: Placement, private readonly content: { cluster: Cluster } | { base: Snapshot; delta: Delta }) {}

  static of(client: Placement, cluster: Cluster): Snapshot { return new Snapshot(client, { cluster }); }

  /**
   * The snapshot with a difference. The server gets the difference only. All differences are kept for a server that starts again: after
   * some hundreds, start with a new, whole cluster.
   */
  with(delta: Delta): Snapshot { return new Snapshot(this.client, { base: this, delta }); }

  /** The content address. The snapshot is put if nothing has been put yet, after those that it differs from. */
  address(): Promise<string> {
    const chain: Snapshot[] = [];
    for (let s: Snapshot | undefined = this; s && !s.#put; s = "base" in s.content ? s.content.base : undefined) chain.push(s);
    for (const s of chain.reverse()) {
      const put = (s.#put = s.put());
      put.catch(() => s.forget(put));
    }
    return this.#put!;
  }

  /**
   * Makes a call about the snapshot: the function gets the base of a context. If the server has dropped the snapshot, it is put again. Of a
   * stream the first message has arrived when the promise is fulfilled.
   */
  async ask<T>(call: (base: Base) => T | Promise<T>, delta?: Delta): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const put = this.address(), value = { address: await put, ...(delta && { delta }) };
      try {
        return await begun(await call({ case: "snapshot", value }));
      } catch (e) {
        if (attempt >= 3 || reasonOf(e) !== "UNKNOWN_SNAPSHOT") throw e;
        this.forget(put);
      }
    }
  }

  private forget(put: Promise<string>): void { if (this.#put === put) this.#put = undefined; }

  private async put(): Promise<string> {
    const c = this.content;
    if ("cluster" in c) return (await this.client.putSnapshot([{ step: { case: "part", value: c.cluster } }, { step: { case: "end", value: {} } }])).address;
    for (let attempt = 0; ; attempt++) {
      const base = c.base.address(), baseAddress = await base;
      try {
        const steps = [{ case: "baseAddress", value: baseAddress }, { case: "delta", value: c.delta }, { case: "end", value: {} }] as const;
        return (await this.client.putSnapshot(steps.map((step) => ({ step })))).address;
      } catch (e) {
        if (attempt >= 3 || reasonOf(e) !== "UNKNOWN_SNAPSHOT") throw e;
        c.base.forget(base);
      }
    }
  }
}

function reasonOf(e: unknown): string { return e instanceof StowageError ? e.reason : ""; }

/** The answer of a call: of a stream once its first message is there, as a stream that has begun has not failed for its snapshot. */
async function begun<T>(answer: T): Promise<T> {
  const messages = (answer as Partial<AsyncIterable<unknown>> | undefined)?.[Symbol.asyncIterator]?.();
  if (!messages) return answer;
  let first: IteratorResult<unknown> | undefined = await messages.next();
  const next = async () => { const r = first; first = undefined; return r ?? messages.next(); };
  const rest = async () => { await messages.return?.(); return { done: true as const, value: undefined }; };
  return { [Symbol.asyncIterator]: () => ({ next, return: rest }) } as T;
}
