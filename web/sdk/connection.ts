// The page's end of the protocol: calls that are promises, over a worker that may die.

import { BitwinError } from './errors.js';
import type { Calls, FromWorker, Method, ToWorker } from './protocol.js';

interface Pending {
  resolve: (result: unknown) => void;
  reject: (error: BitwinError) => void;
  onEvent: ((event: unknown) => void) | undefined;
}

export interface Call<M extends Method> {
  id: number;
  result: Promise<Calls[M]['result']>;
}

export class Connection {
  private readonly pending_ = new Map<number, Pending>();
  private nextId_ = 1;
  private closed_: BitwinError | null = null;

  constructor(private readonly worker_: Worker) {
    worker_.onmessage = ({ data }: MessageEvent<FromWorker>) => this.receive(data);
    worker_.onerror = (event) => {
      event.preventDefault();
      const reason = event.message || 'its script cannot be loaded';
      this.close(new BitwinError('crashed', `The engine's worker failed: ${reason}`));
    };
    worker_.onmessageerror = () => {
      this.close(new BitwinError('crashed', "A message of the engine's worker cannot be read"));
    };
  }

  call<M extends Method>(method: M, params: Calls[M]['params'], onEvent?: (event: Calls[M]['event']) => void): Call<M> {
    const id = this.nextId_++;
    const result = new Promise<unknown>((resolve, reject) => {
      if (this.closed_ !== null) {
        reject(this.closed_);
        return;
      }
      this.pending_.set(id, { resolve, reject, onEvent: onEvent as Pending['onEvent'] });
      this.send({ kind: 'call', id, method, params } as ToWorker);
    });
    return { id, result: result as Promise<Calls[M]['result']> };
  }

  /** Asks the worker to end a `generate` call. */
  stop(id: number): void {
    if (this.pending_.has(id)) this.send({ kind: 'stop', id });
  }

  /** Ends the worker and with it every call that waits. */
  close(error: BitwinError): void {
    if (this.closed_ !== null) return;
    this.closed_ = error;
    this.worker_.terminate();
    for (const { reject } of this.pending_.values()) reject(error);
    this.pending_.clear();
  }

  private send(message: ToWorker): void {
    this.worker_.postMessage(message);
  }

  private receive(message: FromWorker): void {
    const call = this.pending_.get(message.id);
    if (call === undefined) return;
    if (message.kind === 'event') {
      call.onEvent?.(message.event);
      return;
    }
    this.pending_.delete(message.id);
    if (message.kind === 'result') {
      call.resolve(message.result);
      return;
    }
    const error = new BitwinError(message.code, message.message);
    call.reject(error);
    if (message.fatal) this.close(error);
  }
}
