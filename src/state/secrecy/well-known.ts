/**
 * Masks secrets in texts by the forms in which they are usually written, for what is handed to strangers: nobody said that they are
 * secrets, and too much masked is better there than too little.
 */
import { maskedText } from '../values/admit.ts';
import { isSecretKey } from './shown-text.ts';

/** A private key in PEM, to its end or that of the text. */
const pem = /-----BEGIN ([A-Z ]{0,30}PRIVATE KEY)-----[\s\S]*?(?:-----END \1-----|$)/g;
/** `Bearer X`, `Basic X`, as in a header, quoted or not. */
const scheme = /\b(Bearer|Basic|Digest|Negotiate)(\s{1,4})([\w.~+/=:-]{4,})/gi;
/** `scheme://user:X@host`, and `user:X@host` without one. */
const userInfo = /(?<![\w.%+-])([\w.%+-]{1,64}):[^\s:@/"'\\]{1,256}@(?=[\w[])/g;
/** `NAME=X`, `NAME: X`, `--name=X`; a value in quotes to their end, any other to what ends a word. */
const named = /(?<![\w.-])([\w.-]{1,64})(\s{0,4}[=:]\s{0,4})("[^"\n]*"?|'[^'\n]*'?|[^\s"'&;,)}\]]+)/g;
/** `--name X`. */
const flag = /(?<!\S)(-{1,2})([\w-]{1,64})(\s{1,4})(?!-)("[^"\n]*"?|'[^'\n]*'?|[^\s"'&;,)}\]]+)/g;
/** Tokens that say of themselves what they are. */
const tokens = [
  /\bsk-[\w-]{16,}/g,
  /\b(?:ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[abprs]|cairn)[_-][\w-]{16,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[\w-]{30,}/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
];

/** What may follow the name of a header or a variable and is no secret. */
const isPlain = (value: string): boolean =>
  /^["']?(?:true|false|null|undefined|\d{1,3}|\[redacted\]?|\[secret:.*)["']?$/i.test(value);

/** A text with what looks like a secret replaced by `[redacted]`. What stands before it, its name, is kept. */
export function maskWellKnown(text: string): string {
  if (text.length < 4) return text;
  let masked = text
    .replace(pem, `-----BEGIN $1-----${maskedText}`)
    .replace(scheme, (whole, name: string, space: string, value: string) =>
      /^bearer$/i.test(name) || /[^a-z]/.test(value) ? `${name}${space}${maskedText}` : whole,
    )
    .replace(userInfo, `$1:${maskedText}@`)
    .replace(named, (whole, name: string, sign: string, value: string) =>
      isSecretKey(name) && !isPlain(value) && !/^(?:Bearer|Basic|Digest|Negotiate)$/i.test(value)
        ? `${name}${sign}${maskedText}`
        : whole,
    )
    .replace(flag, (whole, dashes: string, name: string, space: string, value: string) =>
      isSecretKey(name) && !isPlain(value) ? `${dashes}${name}${space}${maskedText}` : whole,
    );
  for (const token of tokens) masked = masked.replace(token, maskedText);
  return masked;
}

/** The same in all texts of a JSON value, its keys too. */
export function maskWellKnownIn(value: unknown): unknown {
  if (typeof value === 'string') return maskWellKnown(value);
  if (Array.isArray(value)) return value.map(maskWellKnownIn);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [maskWellKnown(key), maskWellKnownIn(part)]));
}
