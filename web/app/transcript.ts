// The messages on the page. Text goes in as text, never as markup.

import type { AnswerResult } from '../sdk/index.js';
import { element } from './dom.js';
import { formatSeconds } from './format.js';

const log = element('log', HTMLElement);

const kEndings: Record<AnswerResult['finish'], string> = {
  end_of_text: '',
  max_tokens: 'ended at the maximum of tokens',
  context_full: 'ended because the context is full: start a new chat',
  stopped: 'stopped',
};

/** Runs `change`, and keeps the end of the page in sight when it was. */
function following(change: () => void): void {
  const page = document.documentElement;
  const atEnd = page.scrollHeight - page.scrollTop - page.clientHeight < 48;
  change();
  if (atEnd) page.scrollTop = page.scrollHeight;
}

function addMessage(role: 'user' | 'assistant', text: string): { message: HTMLElement; text: Text } {
  const message = document.createElement('article');
  message.className = `message ${role}`;
  message.setAttribute('aria-label', role === 'user' ? 'You' : 'Model');
  const body = document.createElement('div');
  body.className = 'text';
  const node = document.createTextNode(text);
  body.append(node);
  message.append(body);
  following(() => log.append(message));
  return { message, text: node };
}

export function addQuestion(text: string): void {
  addMessage('user', text);
}

/** An answer that grows. */
export class AnswerView {
  private readonly message_: HTMLElement;
  private readonly text_: Text;
  private readonly stats_ = document.createElement('p');

  constructor() {
    const { message, text } = addMessage('assistant', '');
    this.message_ = message;
    this.text_ = text;
    this.stats_.className = 'stats';
    message.append(this.stats_);
    message.setAttribute('aria-busy', 'true');
  }

  showPrompt(done: number, total: number): void {
    this.stats_.textContent = `Reading: ${done} of ${total} tokens`;
  }

  append(text: string): void {
    following(() => {
      this.stats_.textContent = '';
      this.text_.appendData(text);
    });
  }

  finish(result: AnswerResult): void {
    const { timeToFirstToken, tokensPerSecond, promptTokens, generatedTokens } = result.timings;
    const parts = [];
    if (tokensPerSecond > 0) parts.push(`${tokensPerSecond.toFixed(1)} tokens/s`);
    if (generatedTokens > 0) parts.push(`first token after ${formatSeconds(timeToFirstToken)}`);
    parts.push(`${promptTokens} tokens read, ${generatedTokens} written`);
    if (kEndings[result.finish]) parts.push(kEndings[result.finish]);
    this.end(parts.join(' · '));
  }

  fail(): void {
    this.end('ended by an error');
  }

  private end(note: string): void {
    this.message_.setAttribute('aria-busy', 'false');
    following(() => (this.stats_.textContent = note));
  }
}

export function clearTranscript(): void {
  log.replaceChildren();
}
