import type { Documents } from "./gen/documents.js";
import { StowageError } from "./error.js";
import { Deadline, defaultRetries, retrying, type Retries } from "./retry.js";

/** The questions of the command. */
export type Verb = keyof Documents;

/** A problem of a call, or of a Kubernetes object. */
export interface Problem { object?: string; field?: string; detail: string }

/** An error of `stowage serve`. */
export class ObjectsError extends StowageError {
  constructor(readonly status: number, readonly problems: readonly Problem[], retryAfter?: number) {
    super({ code: { 400: 3, 401: 16, 403: 7, 429: 8, 503: 14, 504: 4 }[status] ?? 2, message: problems.map((p) => [p.object, p.field, p.detail].filter(Boolean).join(": ")).join("\n"),
      details: retryAfter === undefined ? [] : [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${retryAfter}s` }] });
    this.name = "ObjectsError";
  }
}

/** An answer of the command. */
export interface Answer<V extends Verb> {
  document: Documents[V];
  /** 0 for a yes, 1 for a no, 3 if kube-scheduler might decide otherwise. */
  exitStatus: number;
}

/** A client of `stowage serve`, which takes Kubernetes objects. */
export class Objects {
  /** timeoutMs is how long a question may take, with its retries. */
  constructor(private readonly options: { url: string; token?: string; timeoutMs?: number; retries?: Partial<Retries>; fetch?: typeof globalThis.fetch }) {}

  /**
   * Asks a question about objects: YAML or JSON text, or the objects themselves. Parameters have the names of the command's flags and
   * arguments.
   */
  async ask<V extends Verb>(verb: V, objects: string | object, parameters: Record<string, string | number | boolean | readonly string[]> = {}, signal?: AbortSignal): Promise<Answer<V>> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) for (const v of Array.isArray(value) ? value : [value]) query.append(name, String(v));
    const body = typeof objects === "string" ? objects : JSON.stringify(Array.isArray(objects) ? { apiVersion: "v1", kind: "List", items: objects } : objects);
    const headers: Record<string, string> = this.options.token ? { Authorization: `Bearer ${this.options.token}` } : {};
    const path = `${this.options.url.replace(/\/$/, "")}/v1/${verb}?${query}`, deadline = new Deadline(this.options.timeoutMs, signal);
    const init: RequestInit = { method: "POST", headers, body, ...(deadline.signal && { signal: deadline.signal }) };
    try {
      const response = await retrying({ ...defaultRetries, ...this.options.retries }, deadline, () => this.post(path, init));
      return { document: (await response.json()) as Documents[V], exitStatus: Number(response.headers.get("Stowage-Exit-Status")) };
    } catch (e) {
      throw deadline.errorOf(e);
    }
  }

  private async post(path: string, init: RequestInit): Promise<Response> {
    const r = await (this.options.fetch ?? globalThis.fetch)(path, init);
    if (r.ok) return r;
    const text = await r.text(), after = r.headers.get("Retry-After");
    let problems: Problem[];
    try { problems = (JSON.parse(text) as { errors: Problem[] }).errors; } catch { problems = [{ detail: `HTTP status ${r.status}: ${text.slice(0, 200)}` }]; }
    throw new ObjectsError(r.status, problems, after !== null && /^\d+$/.test(after) ? Number(after) : undefined); // of a proxy, it may be a date
  }
}
