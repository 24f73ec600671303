// The questions of the page: they can be stopped, and what is answered is kept with its call.
import type { Call, Engine, Result } from './engine';

export interface Answered<T> { doc: T; call: Call; answer: string; exit: number }

export class Questions {
  private open = new Set<AbortController>();

  // busy is called when the first question starts and when the last one ends.
  constructor(private engine: Promise<Engine>, private busy: (on: boolean) => void) {}

  ask(call: Call): Promise<Result> { return this.put((engine, signal) => engine.ask(call, signal)); }

  // cluster reads the cluster behind the engine.
  cluster(): Promise<Result> { return this.put((engine, signal) => engine.cluster?.(signal) ?? Promise.reject(new Error('There is no cluster.'))); }

  // put returns the result of a question. What goes wrong is part of it.
  private async put(question: (engine: Engine, signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const stop = new AbortController();
    this.open.add(stop);
    this.busy(true);
    try {
      const engine = await this.engine;
      stop.signal.throwIfAborted();
      return await question(engine, stop.signal);
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
