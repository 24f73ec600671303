// The questions of the page: they can be stopped, and what is answered is kept with its call.
import type { Call, Engine, Result } from './engine';

export interface Answered<T> { doc: T; call: Call; answer: string; exit: number }

export class Questions {
  private open = new Set<AbortController>();

  // busy is called when the first question starts and when the last one ends.
  constructor(private engine: Promise<Engine>, private busy: (on: boolean) => void) {}

  // ask returns the result of a call. What goes wrong is part of it.
  async ask(call: Call): Promise<Result> {
    const stop = new AbortController();
    this.open.add(stop);
    this.busy(true);
    try {
      const engine = await this.engine;
      stop.signal.throwIfAborted();
      return await engine.ask(call, stop.signal);
    } catch (err) {
      return { exit: 2, answer: '', errors: [{ detail: err instanceof Error ? err.message : String(err) }] };
    } finally {
      this.open.delete(stop);
      if (this.open.size === 0) this.busy(false);
    }
  }

  async document<T>(call: Call): Promise<{ answered?: Answered<T>; result: Result }> {
    const result = await this.ask({ ...call, values: { output: ['json'], ...call.values } });
    if (!result.answer) return { result };
    return { result, answered: { doc: JSON.parse(result.answer) as T, call, answer: result.answer, exit: result.exit } };
  }

  // stop stops all questions.
  stop(): void { for (const s of this.open) s.abort(new Error('You stopped the question.')); }
}
