/** A text that contains secrets. The secrets are resolved when an attempt starts, and never written to the history. */

/** A piece of the text: literal text, or the name of a secret. */
export type SecretPart = string | { readonly secret: string };

const secretBrand = Symbol.for('cairn.secret');

/** A text that names secrets. It is a class so that no stored value can be one: data from the state can never name a secret. */
export class SecretReference {
  readonly parts: readonly SecretPart[];
  constructor(parts: readonly SecretPart[]) {
    this.parts = parts;
  }

  static {
    Object.defineProperty(this.prototype, secretBrand, { value: true });
  }

  /** Tests for a brand rather than the class, so that a user's own block recognises references made by the bundled command. */
  static [Symbol.hasInstance](value: unknown): value is SecretReference {
    return typeof value === 'object' && value !== null && secretBrand in value;
  }

  /** Names of the secrets, without duplicates. */
  get names(): readonly string[] {
    return [...new Set(this.parts.flatMap((part) => (typeof part === 'string' ? [] : [part.secret])))];
  }

  /** The text with names in place of values, for hashes and messages. */
  get text(): string {
    return this.fill((name) => `secret:${name}`);
  }

  /** The text with each secret replaced by its value. */
  fill(valueOf: (name: string) => string): string {
    return this.parts.map((part) => (typeof part === 'string' ? part : valueOf(part.secret))).join('');
  }
}
