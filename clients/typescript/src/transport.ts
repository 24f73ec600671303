import { StowageError, type DetailJson } from "./error.js";

/** How often a call is made again, and the longest delay before that, in milliseconds. */
export interface Retries { attempts: number; maximumDelay: number }

export const defaultRetries: Retries = { attempts: 5, maximumDelay: 10_000 };

const DEADLINE_EXCEEDED = 4, RESOURCE_EXHAUSTED = 8, UNAVAILABLE = 14;

/** The delay before a call is made again after an error, in milliseconds; undefined if it is not. */
export function delayOf(error: unknown, attempt: number, r: Retries): number | undefined {
  if (!(error instanceof StowageError) || attempt >= r.attempts) return undefined;
  const { code, retryAfter } = error;
  // The server knows when: a RESOURCE_EXHAUSTED without a delay is one that a retry would not help.
  if (code !== UNAVAILABLE && (code !== RESOURCE_EXHAUSTED || retryAfter === undefined)) return undefined;
  if (retryAfter === undefined) return Math.min(r.maximumDelay, 100 * 2 ** attempt) * (0.5 + Math.random() / 2);
  return retryAfter > r.maximumDelay ? undefined : retryAfter * (1 + Math.random() / 4);
}

/** Waits for a promise, unless the signal comes first. */
export async function unlessAborted<T>(signal: AbortSignal | undefined, promise: T | Promise<T>): Promise<T> {
  if (!signal) return promise;
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => { stop = () => reject(signal.reason); signal.addEventListener("abort", stop, { once: true }); });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await unlessAborted(signal, new Promise<void>((resolve) => { timer = setTimeout(resolve, ms); }));
  } finally {
    clearTimeout(timer);
  }
}

/** The end of a call, with all its attempts. */
export class Deadline {
  readonly signal: AbortSignal | undefined;
  readonly #end: number;
  readonly #timeout: AbortSignal | undefined;

  constructor(readonly timeoutMs = Infinity, signal?: AbortSignal) {
    const ms = Math.max(0, Math.ceil(timeoutMs)), timed = !(ms >= 2 ** 31); // timers have 31 bits
    this.#end = timed ? performance.now() + ms : Infinity;
    this.#timeout = timed ? AbortSignal.timeout(ms) : undefined;
    this.signal = this.#timeout && signal ? AbortSignal.any([signal, this.#timeout]) : this.#timeout ?? signal;
  }

  /** The milliseconds that are left. */
  get left(): number { return this.#end - performance.now(); }

  /** The error of the call: the timeout has the code that it has if the server notices it first. */
  errorOf(e: unknown): unknown {
    return this.#timeout && e === this.#timeout.reason ? new StowageError({ code: DEADLINE_EXCEEDED, message: `the call took more than ${this.timeoutMs} ms` }) : e;
  }
}

/** Makes a call, and makes it again after errors that a retry may help, unless the deadline comes before that. */
export async function retrying<T>(retries: Partial<Retries> | undefined, deadline: Deadline, call: () => Promise<T>): Promise<T> {
  const r = { ...defaultRetries, ...retries };
  for (let attempt = 0; ; attempt++) {
    try {
      return await call();
    } catch (e) {
      const delay = deadline.signal?.aborted ? undefined : delayOf(e, attempt, r);
      if (delay === undefined || delay >= deadline.left) throw e;
      await sleep(delay, deadline.signal);
    }
  }
}

/**
 * Waits for fetch, or for a body that it reads. Its TypeError is that of a connection: UNAVAILABLE. But Node.js waits 300 s at most for a
 * silent server, and a retry would wait as long.
 */
export async function connected<T>(part: Promise<T>): Promise<T> {
  try {
    return await part;
  } catch (e) {
    if (!(e instanceof TypeError)) throw e;
    const cause = e.cause as { code?: string; message?: string } | undefined;
    const code = /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(cause?.code ?? "") ? DEADLINE_EXCEEDED : UNAVAILABLE;
    throw new StowageError({ code, message: [e.message, cause?.message].filter(Boolean).join(": ") }, { cause: e });
  }
}

/** The value of a text that should be JSON; undefined if it is not, as an answer of a proxy. */
export function parsed(text: string): unknown {
  try { return JSON.parse(text); } catch { return undefined; }
}

/** What is shown of an answer that is not the server's. */
export function excerpt(response: Response, text: string): string { return `HTTP status ${response.status}: ${text.slice(0, 200)}`; }

/** The seconds of Retry-After; undefined if it is absent, or the date of a proxy. */
export function retryAfter(response: Response): number | undefined {
  const after = response.headers.get("Retry-After") ?? "";
  return /^\d+$/.test(after) ? Number(after) : undefined;
}

/** The detail of an error that has the delay before a retry. */
export function retryDetails(seconds: number | undefined): DetailJson[] {
  return seconds === undefined ? [] : [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${seconds}s` }];
}

/** A bearer token goes over plain HTTP only to this machine, or where the caller says so. */
export function checkToken(o: { url: string; token?: unknown; plainToken?: boolean }): void {
  if (o.token && !o.plainToken && /^http:\/\/(?!(localhost|127(\.\d+){3}|\[::1\])(:\d*)?(\/|$))/i.test(o.url)) {
    throw new Error(`${o.url}: a token needs https, or plainToken`);
  }
}
