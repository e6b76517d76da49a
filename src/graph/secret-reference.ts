/** A text with secrets in it: resolved when an attempt starts, never written. */

/** A piece of such a text: itself, or a secret by name. */
export type SecretPart = string | { readonly secret: string };

const secretBrand = Symbol.for('cairn.secret');

/** Text with secrets by name. It is a class, which no stored value can be: so data that comes from the state can never name a secret. */
export class SecretReference {
  readonly parts: readonly SecretPart[];
  constructor(parts: readonly SecretPart[]) {
    this.parts = parts;
  }

  static {
    Object.defineProperty(this.prototype, secretBrand, { value: true });
  }

  /** Known by its brand, so that a block of the user's own knows those of the bundled command. */
  static [Symbol.hasInstance](value: unknown): value is SecretReference {
    return typeof value === 'object' && value !== null && secretBrand in value;
  }

  /** Names of the secrets, each once. */
  get names(): readonly string[] {
    return [...new Set(this.parts.flatMap((part) => (typeof part === 'string' ? [] : [part.secret])))];
  }

  /** What stands for the text in hashes and messages. */
  get text(): string {
    return this.fill((name) => `secret:${name}`);
  }

  /** The text with a value for each secret. */
  fill(valueOf: (name: string) => string): string {
    return this.parts.map((part) => (typeof part === 'string' ? part : valueOf(part.secret))).join('');
  }
}
