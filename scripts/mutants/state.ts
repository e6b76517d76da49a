/** Changes of meaning in the state of runs. */
import type { Mutant } from './mutant.ts';

export const stateMutants: readonly Mutant[] = [
  {
    name: 'the reducer `first` replaces a stored null',
    file: 'src/state/channels/reducers.ts',
    old: 'first: (slot, update) => (slot.exists ? keep : set(update)),',
    new: 'first: (slot, update) => (slot.exists && slot.value !== null ? keep : set(update)),',
    tests: ['src/state/channels/reducers.test.ts'],
  },
  {
    name: '`merge` replaces what is inside',
    file: 'src/state/channels/reducers.ts',
    old: 'if (isPlainObject(held) && isPlainObject(given)) {',
    new: 'if (isPlainObject(held) && isPlainObject(given) && keyPath.length > 99) {',
    tests: ['src/state/channels/reducers.test.ts'],
  },
  {
    name: '`union` keeps an item twice',
    file: 'src/state/channels/reducers.ts',
    old: 'if (known.has(text) || seen.has(text)) return false;',
    new: 'if (seen.has(text)) return false;',
    tests: ['src/state/channels/reducers.test.ts'],
  },
  {
    name: '`avg` is the mean of the last two',
    file: 'src/state/channels/reducers.ts',
    old: "const count = (typeof slot.aux === 'number' ? slot.aux : 1) + 1;",
    new: 'const count = 2;',
    tests: ['src/state/channels/reducers.test.ts'],
  },
  {
    name: 'minus zero is stored as zero',
    file: 'src/state/values/encode.ts',
    old: 'return !Number.isFinite(value) || (value === 0 && 1 / value < 0);',
    new: 'return !Number.isFinite(value);',
    tests: ['src/state/values/codec.test.ts'],
  },
  {
    name: "a user's object that looks like a tag is read as one",
    file: 'src/state/values/encode.ts',
    old: "const encoded = key === '$' && typeof value === 'string' ? tag('text', value) : tagValue(value);",
    new: 'const encoded = tagValue(value);',
    tests: ['src/state/values/codec.test.ts'],
  },
  {
    name: 'a list that a reducer grows is written whole',
    file: 'src/state/channels/run-reducer.ts',
    old: "return { kind: 'append', items: added };",
    new: "return { kind: 'set', value: [...slot.value, ...added] };",
    tests: ['src/state/channels/reducers.test.ts'],
  },
  {
    name: 'secrecy: an entry that names the place of a secret is shown',
    file: 'src/state/secrecy/shown.ts',
    old: "return Array.isArray(place) && place.some((key) => typeof key === 'string' && isSecretKey(key));",
    new: 'return false;',
    tests: ['src/state/secrecy/shown.test.ts'],
  },
  {
    name: 'secrecy: what breaks within its first characters is not found',
    file: 'src/state/secrecy/secret-search.ts',
    old: ' ?? this.#findBroken(text, at);',
    new: ' ?? (this.#width < 0 ? this.#findBroken(text, at) : undefined);',
    tests: ['src/state/secrecy/text-mask.test.ts'],
  },
  {
    name: 'secrecy: a piece of a stream is shown though the next may complete a secret',
    file: 'src/state/secrecy/text-mask.ts',
    old: 'const limit = Math.max(0, this.#held.length - this.#search.longest + 1);',
    new: 'const limit = this.#held.length;',
    tests: ['src/state/secrecy/text-mask.test.ts'],
  },
  {
    name: 'secrecy: a secret that becomes known later is not masked run-wide',
    file: 'src/engine/run/run-secrets.ts',
    old: 'if (!this.#names.has(value) && this.#note(name, value)) this.#renew();',
    new: 'if (!this.#names.has(value)) this.#note(name, value);',
    tests: ['src/engine/calls/run-wide-masks.test.ts'],
  },
  {
    name: 'a step whose input holds a secret is another step after a crash',
    file: 'src/engine/record/given-hash.ts',
    old: "return hashText(admitValue(input, [...path, key, 'input'], core.env.limits, core.env.intake).json);",
    new: "return hashText(admitValue(input, [...path, key, 'input'], core.env.limits, core.secrets.intake).json);",
    tests: ['src/engine/calls/run-wide-masks.test.ts'],
  },
];
