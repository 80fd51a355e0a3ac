// An answer while it is made.

import type { AnswerEvent, AnswerResult } from './types.js';

/**
 * An answer in progress: iterate over it for its pieces, await `finished` for the whole. Leaving the iteration stops the
 * answer. A failure arrives at both.
 */
export class Answer implements AsyncIterable<AnswerEvent> {
  readonly finished: Promise<AnswerResult>;
  private readonly queue_: AnswerEvent[] = [];
  private wake_: () => void = () => {};
  private done_ = false;

  /** `start` begins the answer, sends its pieces to `onEvent` and gives its end. */
  constructor(
    start: (onEvent: (event: AnswerEvent) => void) => Promise<AnswerResult>,
    private readonly stop_: () => void,
  ) {
    this.finished = start((event) => {
      this.queue_.push(event);
      this.wake_();
    }).finally(() => {
      this.done_ = true;
      this.wake_();
    });
    // Whoever only iterates sees the failure there; it must not count as unhandled here.
    this.finished.catch(() => {});
  }

  /** Ends the answer after the step in progress; `finished` then tells the reason `stopped`. */
  stop(): void {
    this.stop_();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AnswerEvent, void> {
    let complete = false;
    try {
      for (;;) {
        const event = this.queue_.shift();
        if (event !== undefined) yield event;
        else if (this.done_) break;
        else await new Promise<void>((resolve) => (this.wake_ = resolve));
      }
      complete = true;
      await this.finished;
    } finally {
      if (!complete) this.stop();
    }
  }
}
