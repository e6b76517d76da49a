/** The spans of one attempt: its own, and those that its code starts. Spans still open when the attempt ends are ended with it. */
import type { SpanAttributes, SpanParts, TraceSpan } from '../../graph/contracts/trace-contract.ts';
import type { Attributes, Span, Telemetry } from '../../ports/telemetry.ts';
import { shown } from '../../state/secrecy/shown.ts';
import type { TextMask } from '../../state/secrecy/text-mask.ts';
import type { RunSecrets } from '../run/run-secrets.ts';

/** Calls a telemetry and ignores its errors. */
export function quietly<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

export class AttemptTrace {
  readonly span: Span | undefined;
  readonly #telemetry: Telemetry;
  readonly #about: Attributes;
  readonly #open = new Set<CodeSpan>();

  /** @param about - attributes of every span of the attempt */
  constructor(telemetry: Telemetry, about: Attributes, parent: Span | string | undefined) {
    this.#telemetry = telemetry;
    this.#about = about;
    this.span = quietly(() => telemetry.startSpan('cairn.attempt', about, parent));
  }

  end(attributes: Attributes): void {
    for (const open of this.#open) open.end();
    quietly(() => this.span?.end(attributes));
  }

  begin(name: string, parts: SpanParts, secrets: RunSecrets, parent: Span | undefined): TraceSpan | undefined {
    const span = quietly(() => {
      const told = this.told(parts, secrets.mask);
      return this.#telemetry.startSpan(name, { ...this.#about, ...told }, parent);
    });
    if (span === undefined) return undefined;
    const begun = new CodeSpan(this, span, secrets);
    this.#open.add(begun);
    return begun;
  }

  /** Closes a span. Returns false if it has ended already. */
  close(span: CodeSpan): boolean {
    return this.#open.delete(span);
  }

  told({ attributes, contents }: SpanParts, mask: TextMask | undefined): Attributes {
    const said = contents !== undefined && this.#telemetry.contents === true ? quietly(contents) : undefined;
    return masked({ ...attributes, ...(shown(said) as SpanAttributes | undefined) }, mask);
  }
}

function masked(attributes: SpanAttributes, mask: TextMask | undefined): SpanAttributes {
  return mask === undefined ? attributes : (mask.all(attributes) as SpanAttributes);
}

class CodeSpan implements TraceSpan {
  readonly #attempt: AttemptTrace;
  readonly #span: Span;
  readonly #secrets: RunSecrets;

  constructor(attempt: AttemptTrace, span: Span, secrets: RunSecrets) {
    this.#attempt = attempt;
    this.#span = span;
    this.#secrets = secrets;
  }

  trace(name: string, parts: SpanParts = {}): TraceSpan | undefined {
    return this.#attempt.begin(name, parts, this.#secrets, this.#span);
  }

  end({ error, ...parts }: SpanParts & { readonly error?: string } = {}): void {
    if (!this.#attempt.close(this)) return;
    quietly(() => {
      const told = this.#attempt.told(parts, this.#secrets.mask);
      this.#span.end(error === undefined ? told : { ...told, 'error.type': error, error });
    });
  }
}
