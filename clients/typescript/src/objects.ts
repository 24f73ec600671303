import type { Documents } from "./gen/documents.js";
import { StowageError } from "./error.js";
import { checkToken, connected, Deadline, excerpt, parsed, retryAfter, retryDetails, retrying, type Retries } from "./transport.js";

/** The questions of the command. */
export type Verb = keyof Documents;

/** A problem of a call, or of a Kubernetes object. */
export interface Problem { object?: string; field?: string; detail: string }

/** An error of `stowage serve`. */
export class ObjectsError extends StowageError {
  constructor(readonly status: number, readonly problems: readonly Problem[], retryAfter?: number) {
    super({ code: { 400: 3, 401: 16, 403: 7, 408: 4, 429: 8, 503: 14, 504: 4 }[status] ?? 2, message: problems.map((p) => [p.object, p.field, p.detail].filter(Boolean).join(": ")).join("\n"),
      details: retryDetails(retryAfter) });
    this.name = "ObjectsError";
  }
}

/** An answer of the command. */
export interface Answer<V extends Verb> {
  document: Documents[V];
  /** 0 for a yes, 1 for a no, 3 if kube-scheduler might decide otherwise. */
  exitStatus: number;
}

/** What a question may have beside its parameters. */
export interface AskOptions {
  /** Text of the parameters that are files, such as the template of provision. */
  files?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** Where `stowage serve` is. */
export interface ObjectsOptions {
  url: string;
  token?: string;
  /** Whether the token may go over plain HTTP to other machines. */
  plainToken?: boolean;
  /** How long a question may take, with its retries. */
  timeoutMs?: number;
  retries?: Partial<Retries>;
  fetch?: typeof globalThis.fetch;
}

/** A client of `stowage serve`, which takes Kubernetes objects. */
export class Objects {
  constructor(private readonly options: ObjectsOptions) { checkToken(options); }

  /**
   * Asks a question about objects: YAML or JSON text, or the objects themselves. Parameters have the names of the command's flags and
   * arguments.
   */
  async ask<V extends Verb>(verb: V, objects: string | object, parameters: Record<string, string | number | boolean | readonly string[]> = {}, options: AskOptions = {}): Promise<Answer<V>> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) for (const v of Array.isArray(value) ? value : [value]) query.append(name, String(v));
    const text = typeof objects === "string" ? objects : JSON.stringify(Array.isArray(objects) ? { apiVersion: "v1", kind: "List", items: objects } : objects);
    const o = this.options, deadline = new Deadline(o.timeoutMs, options.signal), path = `${o.url.replace(/\/$/, "")}/v1/${verb}?${query}`;
    const init = { method: "POST", headers: new Headers(o.token ? { Authorization: `Bearer ${o.token}` } : {}), body: bodyOf(text, options.files), signal: deadline.signal ?? null };
    try {
      return await retrying(o.retries, deadline, async () => {
        const response = await connected((o.fetch ?? globalThis.fetch)(path, init));
        return answerOf<V>(response, await connected(response.text()));
      });
    } catch (e) {
      throw deadline.errorOf(e);
    }
  }
}

/** A body of the objects alone, or a form, as of `curl -F file=@objects.yaml -F template=@template.yaml`. */
function bodyOf(objects: string, files: AskOptions["files"]): string | FormData {
  if (!files) return objects;
  const form = new FormData();
  form.append("file", new Blob([objects]), "body");
  for (const [name, text] of Object.entries(files)) form.append(name, new Blob([text]), name);
  return form;
}

function answerOf<V extends Verb>(response: Response, text: string): Answer<V> {
  const json = parsed(text), exitStatus = response.headers.get("Stowage-Exit-Status");
  if (response.ok && json !== undefined && exitStatus) return { document: json as Documents[V], exitStatus: Number(exitStatus) };
  const { errors } = (json ?? {}) as { errors?: Problem[] }; // a proxy has others
  const problems = Array.isArray(errors) && errors.every((p) => typeof p?.detail === "string") ? errors : [{ detail: excerpt(response, text) }];
  throw new ObjectsError(response.status, problems, retryAfter(response));
}
