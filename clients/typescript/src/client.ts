import { create, fromJson, toJsonString } from "@bufbuild/protobuf";
import type { DescMessage, DescMethod, DescService, JsonValue, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { StowageError, type StatusJson } from "./error.js";
import { checkToken, connected, Deadline, excerpt, parsed, retryAfter, retryDetails, retrying, unlessAborted, type Retries } from "./transport.js";

/** Where a server is, and how to call it. */
export interface Options {
  /** The server's http-address, such as http://localhost:7435. */
  url: string;
  /** The bearer token of the caller, or a function that returns the current one. */
  token?: string | (() => string | Promise<string>);
  /** Whether the token may go over plain HTTP to other machines. */
  plainToken?: boolean;
  /** The largest message of an answer, as the contract counts it; the server's own limit is 4 MiB. */
  maximumAnswerBytes?: number;
  retries?: Partial<Retries>;
  fetch?: typeof globalThis.fetch;
}

/** Options of a call. */
export interface CallOptions {
  signal?: AbortSignal;
  /** How long the call may take, with its retries and the messages of its answer. Then it fails with code 4, DEADLINE_EXCEEDED. */
  timeoutMs?: number;
}

type Input<M extends DescMethod> = MessageInitShape<M["input"]>;
type Output<M extends DescMethod> = MessageShape<M["output"]>;

/** A method of a service. A message of a request is an initializer: absent fields have the contract's defaults. */
export type Method<M extends DescMethod> =
  M["methodKind"] extends "unary" ? (request: Input<M>, options?: CallOptions) => Promise<Output<M>>
  : M["methodKind"] extends "server_streaming" ? (request: Input<M>, options?: CallOptions) => AsyncIterable<Output<M>>
  : (requests: Iterable<Input<M>>, options?: CallOptions) => Promise<Output<M>>;

/** A client of a service. */
export type Client<S extends DescService> = { [K in keyof S["method"]]: Method<S["method"][K]> };

const defaultAnswerBytes = 256 << 20;

/** Returns a client of a service: a function for each method. */
export function createClient<S extends DescService>(service: S, options: Options): Client<S> {
  checkToken(options);
  const methods: Record<string, unknown> = {};
  for (const m of service.methods) {
    const path = `${options.url.replace(/\/$/, "")}/${service.typeName}/${m.name}`;
    methods[m.localName] =
      m.methodKind === "unary" ? (r: object, o?: CallOptions) => one(options, path, m, [r], o)
      : m.methodKind === "server_streaming" ? (r: object, o?: CallOptions) => several(options, path, m, r, o)
      : (r: Iterable<object>, o?: CallOptions) => one(options, path, m, r, o);
  }
  return methods as Client<S>;
}

function encode(d: DescMessage, messages: Iterable<object>): string {
  let body = "";
  for (const m of messages) body += toJsonString(d, create(d, m as MessageInitShape<DescMessage>)) + "\n";
  return body;
}

/** Posts a body until there is a response without an error, of which `read` has read what a retry covers. */
async function post<T>(o: Options, path: string, body: string, deadline: Deadline, read: (r: Response) => Promise<T>): Promise<T> {
  const headers = new Headers({ "Content-Type": "application/json", "Stowage-Max-Answer-Bytes": String(o.maximumAnswerBytes ?? defaultAnswerBytes) });
  const token = typeof o.token === "function" ? await unlessAborted(deadline.signal, o.token()) : o.token;
  if (token) headers.set("Authorization", `Bearer ${token}`);
  return retrying(o.retries, deadline, async () => {
    if (deadline.left !== Infinity) headers.set("Grpc-Timeout", `${Math.max(1, Math.round(deadline.left))}m`);
    const response = await connected((o.fetch ?? globalThis.fetch)(path, { method: "POST", headers, body, signal: deadline.signal ?? null }));
    if (!response.ok) throw errorOf(response, await connected(response.text()));
    return read(response);
  });
}

/** The error of a response. A proxy between may answer with something else than the server's JSON, such as JSON of its own. */
function errorOf(response: Response, text: string): StowageError {
  const json = parsed(text) as (StatusJson & { error?: StatusJson }) | null | undefined, status = json?.error ?? json;
  if (Number.isInteger(status?.code) && status!.code! <= 16) return new StowageError(status!);
  const code = { 401: 16, 403: 7, 408: 4, 429: 8, 502: 14, 503: 14, 504: 4 }[response.status] ?? 2;
  return new StowageError({ code, message: excerpt(response, text), details: retryDetails(retryAfter(response)) });
}

/** The message of an answer. A field of a newer server is no error, as in protobuf's binary form. */
function decode(d: DescMessage, json: unknown): unknown { return fromJson(d, json as JsonValue, { ignoreUnknownFields: true }); }

async function one(o: Options, path: string, m: DescMethod, requests: Iterable<object>, call?: CallOptions): Promise<unknown> {
  const body = encode(m.input, requests), deadline = new Deadline(call?.timeoutMs, call?.signal);
  try {
    const [response, text] = await post(o, path, body, deadline, async (r) => [r, await connected(r.text())] as const);
    const json = parsed(text);
    if (json === undefined) throw new StowageError({ code: 2, message: excerpt(response, text) });
    return decode(m.output, json);
  } catch (e) {
    throw deadline.errorOf(e);
  }
}

async function* several(o: Options, path: string, m: DescMethod, request: object, call?: CallOptions): AsyncIterable<unknown> {
  const body = encode(m.input, [request]), deadline = new Deadline(call?.timeoutMs, call?.signal);
  try {
    // The server sends headers with the first message: until then a call may be made again.
    for await (const line of lines(await post(o, path, body, deadline, async (r) => r))) {
      const part = JSON.parse(line) as { result?: JsonValue; error?: StatusJson };
      if (part.error) throw new StowageError(part.error);
      yield decode(m.output, part.result ?? {});
    }
  } catch (e) {
    throw deadline.errorOf(e);
  }
}

async function* lines(response: Response): AsyncIterable<string> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const rest: string[] = [];
    for (let read = await connected(reader.read()); !read.done; read = await connected(reader.read())) {
      const parts = read.value.split("\n");
      for (const [i, part] of parts.entries()) {
        rest.push(part);
        if (i === parts.length - 1) continue;
        const line = rest.splice(0).join("");
        if (line) yield line;
      }
    }
    const last = rest.join("");
    if (last) yield last;
  } finally {
    await reader.cancel().catch(() => {}); // of a stream that has failed, with the same error
  }
}
