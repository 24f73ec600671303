import { StowageError } from "./error.js";

/** How often, and for how long in all, a call is made again. */
export interface Retries { attempts: number; maximumDelay: number }

export const defaultRetries: Retries = { attempts: 5, maximumDelay: 10_000 };

const RESOURCE_EXHAUSTED = 8, UNAVAILABLE = 14;

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

/** Makes a call, and makes it again after errors that a retry may help. */
export async function retrying<T>(r: Retries, signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call();
    } catch (e) {
      const delay = signal?.aborted ? undefined : delayOf(e, attempt, r);
      if (delay === undefined) throw e;
      await sleep(delay, signal);
    }
  }
}
