import { StowageError } from "./error.js";

/** How often, and for how long in all, a call is made again. */
export interface Retries { attempts: number; maximumDelay: number }

export const defaultRetries: Retries = { attempts: 5, maximumDelay: 10_000 };

const DEADLINE_EXCEEDED = 4, RESOURCE_EXHAUSTED = 8, UNAVAILABLE = 14;

/** The delay before a call is made again after an error, in milliseconds; undefined if it is not. */
export function delayOf(error: unknown, attempt: number, r: Retries): number | undefined {
  if (attempt >= r.attempts) return undefined;
  const backoff = Math.min(r.maximumDelay, 100 * 2 ** attempt) * (0.5 + Math.random() / 2);
  if (!(error instanceof StowageError)) return error instanceof TypeError ? backoff : undefined; // fetch found no server
  // The server knows when: it has no pushback where a retry would not help.
  if (error.code === RESOURCE_EXHAUSTED) return error.retryAfter === undefined || error.retryAfter > r.maximumDelay ? undefined : error.retryAfter * (1 + Math.random() / 4);
  return error.code === UNAVAILABLE ? backoff : undefined;
}

/** Waits, unless the signal ends it. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => { clearTimeout(timer); reject(signal!.reason); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); resolve(); }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** The end of a call, with all its attempts. */
export class Deadline {
  readonly signal: AbortSignal | undefined;
  readonly #end: number;
  readonly #timeout: AbortSignal | undefined;

  constructor(readonly timeoutMs?: number, signal?: AbortSignal) {
    this.#end = timeoutMs === undefined ? Infinity : performance.now() + timeoutMs;
    this.#timeout = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
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
export async function retrying<T>(r: Retries, deadline: Deadline, call: () => Promise<T>): Promise<T> {
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
