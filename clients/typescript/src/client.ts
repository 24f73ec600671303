import { create, fromJson, toJsonString } from "@bufbuild/protobuf";
import type { DescMessage, DescMethod, DescService, JsonValue, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { StowageError, type StatusJson } from "./error.js";
import { Deadline, defaultRetries, retrying, type Retries } from "./retry.js";

/** Where a server is, and how to call it. */
export interface Options {
  /** The server's http-address, such as http://localhost:7435. */
  url: string;
  /** The bearer token of the caller, or a function that returns the current one. */
  token?: string | (() => string | Promise<string>);
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

/** Posts a body, and returns a response without an error. */
async function post(o: Options, path: string, body: string, deadline: Deadline): Promise<Response> {
  const headers: Record<string, string> = {
    "Content-Type": "application/json", "Stowage-Max-Answer-Bytes": String(o.maximumAnswerBytes ?? defaultAnswerBytes),
  };
  const token = typeof o.token === "function" ? await o.token() : o.token;
  if (token) headers["Authorization"] = `Bearer ${token}`;
  const init: RequestInit = { method: "POST", headers, body, ...(deadline.signal && { signal: deadline.signal }) };
  if (deadline.left !== Infinity) headers["Grpc-Timeout"] = `${Math.max(1, Math.round(deadline.left))}m`;
  const response = await (o.fetch ?? globalThis.fetch)(path, init);
  if (!response.ok) throw await errorOf(response);
  return response;
}

/** The error of a response. A proxy between may answer with something else than the server's JSON. */
async function errorOf(response: Response): Promise<StowageError> {
  const text = await response.text();
  try {
    const json = JSON.parse(text) as StatusJson & { error?: StatusJson };
    return new StowageError(json.error ?? json);
  } catch {
    const code = { 401: 16, 403: 7, 429: 8, 502: 14, 503: 14, 504: 4 }[response.status] ?? 2;
    return new StowageError({ code, message: `HTTP status ${response.status}: ${text.slice(0, 200)}` });
  }
}

async function one(o: Options, path: string, m: DescMethod, requests: Iterable<object>, call?: CallOptions): Promise<unknown> {
  const body = encode(m.input, requests), deadline = new Deadline(call?.timeoutMs, call?.signal);
  try {
    const response = await retrying({ ...defaultRetries, ...o.retries }, deadline, () => post(o, path, body, deadline));
    // A field of a newer server is no error, as in protobuf's binary form.
    return fromJson(m.output, (await response.json()) as JsonValue, { ignoreUnknownFields: true });
  } catch (e) {
    throw deadline.errorOf(e);
  }
}

async function* several(o: Options, path: string, m: DescMethod, request: object, call?: CallOptions): AsyncIterable<unknown> {
  const body = encode(m.input, [request]), deadline = new Deadline(call?.timeoutMs, call?.signal);
  try {
    // Until the first message arrives a call may be made again.
    const response = await retrying({ ...defaultRetries, ...o.retries }, deadline, () => post(o, path, body, deadline));
    for await (const line of lines(response)) {
      const part = JSON.parse(line) as { result?: JsonValue; error?: StatusJson };
      if (part.error) throw new StowageError(part.error);
      yield fromJson(m.output, part.result ?? {}, { ignoreUnknownFields: true });
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
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
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
    await reader.cancel();
  }
}
