/** What is shown of a value, and what is refused when it comes back (C2). */
import { describe, expect, test } from 'vitest';
import { CairnError } from '../../errors.ts';
import { refuseMasked } from './refuse-masked.ts';
import { isSecretKey, shown, shownError } from './shown-text.ts';

const planted = 'hunter2-planted';
const masked = '[redacted]';

describe('C2.1 values as they are shown', () => {
  test('C2.1 names of secrets are known in every spelling, and names that only resemble them are not', () => {
    for (const key of 'password Password db_password apiKey Api-Key API_KEY x-api-key access_token accessToken stripeApiKey'.split(
      ' ',
    ))
      expect([key, isSecretKey(key)]).toEqual([key, true]);
    for (const key of 'secret client.secret authorization Set-Cookie TOKEN passphrase private_key'.split(' '))
      expect([key, isSecretKey(key)]).toEqual([key, true]);
    for (const key of 'tokens inputTokens max_tokens user passwordless author secretary key id'.split(' '))
      expect([key, isSecretKey(key)]).toEqual([key, false]);
  });

  test('C2.1 a key that ends with the name of a secret is one, whatever stands before it, and what only speaks of one is none', () => {
    const names = 'token cookie credential credentials authorization passphrase passwd secretKey apiToken';
    for (const name of names.split(' '))
      for (const key of [`graph.${name}`, `my_${name}`, `MY-${name.toUpperCase()}`, `${'long.'.repeat(20)}${name}`])
        expect([key, isSecretKey(key)]).toEqual([key, true]);
    for (const key of 'githubToken GITHUB_TOKEN csrfToken sessionCookie AWS_SECRET_ACCESS_KEY'.split(' '))
      expect([key, isSecretKey(key)]).toEqual([key, true]);
    const counts = 'total_tokens totalTokens promptTokens token_count tokenCount tokenizer tokenType cookiecutter';
    const others = 'graph.tokens credentialed price_per_token timeToFirstToken nextPageToken passwordChangedAt';
    for (const key of `${counts} ${others}`.split(' ')) expect([key, isSecretKey(key)]).toEqual([key, false]);
  });

  test('C2.1 whatever stands under such a name is masked whole, however deep: texts, numbers, lists, objects, in maps and sets', () => {
    const value = {
      password: planted,
      Pin: 1,
      list: [{ 'Api-Key': 12_345 }, [{ apiKey: [planted] }]],
      secret: { user: planted, deep: [planted] },
      map: new Map<unknown, unknown>([
        ['access_token', planted],
        [7, { cookie: planted }],
      ]),
      set: new Set([{ token: planted }]),
      nothing: { token: null, secret: undefined },
    };
    expect(shown(value)).toEqual({
      password: masked,
      Pin: 1,
      list: [{ 'Api-Key': masked }, [{ apiKey: masked }]],
      secret: masked,
      map: new Map<unknown, unknown>([
        ['access_token', masked],
        [7, { cookie: masked }],
      ]),
      set: new Set([{ token: masked }]),
      nothing: { token: null, secret: undefined },
    });
    // The value itself is the run's, and is as it was.
    expect(value.password).toBe(planted);
  });

  test('C2.1 an entry that names its place is masked where the place is one of a secret', () => {
    const entry = (path: unknown): object => ({ path, before: planted, after: `${planted} two` });
    expect(shown([entry(['scratch', 'apiKey', '0']), entry('scratch.apiKey.0'), entry(['scratch', 'plan'])])).toEqual([
      { path: ['scratch', 'apiKey', '0'], before: masked, after: masked },
      { path: 'scratch.apiKey.0', before: masked, after: masked },
      entry(['scratch', 'plan']),
    ]);
    expect(
      shown([
        { name: 'Authorization', value: planted },
        { name: 'x', value: 1 },
      ]),
    ).toEqual([
      { name: 'Authorization', value: masked },
      { name: 'x', value: 1 },
    ]);
  });

  test('C2.1 what a node named like a secret was answered and gave is masked, and how it did is told', () => {
    const error = Object.assign(new Error('it is gone'), { code: 'GONE', data: { stdout: planted } });
    const told = { message: 'it is gone', code: 'GONE', data: masked };
    const visit = { path: ['child', 'run', 'password'], status: 'failed', attempts: 2, value: planted, error };
    const questions = [{ name: 'question', prompt: 'Which?', answer: planted }, { answer: null }];
    const changes = [{ path: ['scratch', 'plan'], after: 'a' }];
    expect(shown({ ...visit, questions, changes })).toMatchObject({
      ...visit,
      value: masked,
      error: told,
      changes,
      questions: [{ prompt: 'Which?', answer: masked }, { answer: null }],
    });
    expect(shown({ failures: { token: error, plan: error, 'run/token': planted } })).toMatchObject({
      failures: { token: told, plan: error, 'run/token': masked },
    });
    expect(shown({ path: ['failures', 'token'], after: error })).toMatchObject({ after: told });
    expect(shown({ path: ['scratch', 'token'], after: error })).toMatchObject({ after: masked });
    expect(shown({ node: ['token'], name: 'question', defaultAnswer: planted, after: 7 })).toMatchObject({
      defaultAnswer: masked,
      after: 7,
    });
    expect(shown({ type: 'emitted', node: ['token'], after: 7, detail: { text: planted } })).toMatchObject({
      after: 7,
      detail: masked,
    });
    expect(shown({ wait: { node: ['token'], name: 'question' }, value: planted })).toMatchObject({ value: masked });
    expect(shown({ wait: { node: ['a'], name: 'password' }, value: planted })).toMatchObject({ value: masked });
    const failed = new CairnError('NODE_FAILED', { node: 'run/token', reason: 'it is gone' }, { cause: error });
    expect(shownError(failed)).toMatchObject({ message: failed.message, cause: told });
    expect(shown({ gates: { token: 'success', secret: planted } })).toEqual({
      gates: { token: 'success', secret: masked },
    });
    expect(shown({ currentNode: 'token', outcome: { outcome: 'fail', response: planted } })).toEqual({
      currentNode: 'token',
      outcome: { outcome: 'fail', response: masked },
    });
  });

  test('C2.1 JSON within a text is masked by its names, and all else of the text stays', () => {
    const body = `a {"user":"ada", "access_token" : "${planted}\\"${planted}", "tokens":3, "pin": 4, "api_key":-12.5e3}`;
    expect(shown(body)).toBe(
      `a {"user":"ada", "access_token" : "${masked}", "tokens":3, "pin": 4, "api_key":"${masked}"}`,
    );
    // Cut off in the middle of the value.
    expect(shown(`{"password":"${planted}`)).toBe(`{"password":"${masked}"`);
    expect(shown('a: [1, 2] "b": "c"')).toBe('a: [1, 2] "b": "c"');
  });

  test('C2.1 JSON within JSON within a text is masked too, and lists and objects whole, cut off or not', () => {
    const inner = { user: 'ada', access_token: `${planted}"\\`, tokens: 3 };
    const clean = { ...inner, access_token: masked };
    let [text, told] = [JSON.stringify(inner), JSON.stringify(clean)];
    for (let depth = 0; depth < 4; depth += 1) {
      expect(shown(text)).toBe(told);
      [text, told] = [JSON.stringify({ depth, body: text }), JSON.stringify({ depth, body: told })];
    }
    const credentials = { list: [planted, { deep: `}]"${planted}` }] };
    expect(shown(JSON.stringify({ credentials, n: 1 }))).toBe(`{"credentials":"${masked}","n":1}`);
    expect(shown(JSON.stringify({ a: JSON.stringify({ credentials, n: 1 }) }))).toBe(
      JSON.stringify({ a: `{"credentials":"${masked}","n":1}` }),
    );
    expect(shown(`{"credentials":["${planted}", {`)).toBe(`{"credentials":"${masked}"`);
    expect(shown('{"token":true,"secret":null}')).toBe('{"token":true,"secret":null}');
  });

  test('C2.1 a text made to be slow is masked in time that goes with its length', () => {
    const size = 400_000;
    for (const text of [
      '\\'.repeat(size),
      '"'.repeat(size),
      '"token":"'.repeat(size / 8),
      '"token":['.repeat(size / 8),
    ])
      expect(String(shown(`"a":${text}`)).length).toBeLessThanOrEqual(size * 2);
  });

  test('C2.1 what holds nothing of the kind is given back itself', () => {
    const value = { a: [1, { b: new Map([['c', new Date(0)]]) }], e: new Error('x') };
    expect(shown(value)).toBe(value);
  });

  test('C2.1 errors keep their class and code, and say what is left', () => {
    const error = new CairnError('INPUT_INVALID', { reason: { password: planted }, path: 'a' });
    expect(error.message).toContain(planted);
    const told = shownError(error);
    expect(CairnError.is(told, 'INPUT_INVALID')).toBe(true);
    expect(told).toMatchObject({ data: { reason: { password: masked }, path: 'a' } });
    expect(`${told.message} ${told.stack}`).not.toContain(planted);
    expect(told.stack).toContain('shown.test.ts');
    const cause = Object.assign(new TypeError(`refused {"token":"${planted}"}`), {
      code: 'E',
      data: { apiKey: planted },
    });
    const wrapped = shownError(new Error('outside', { cause }));
    expect(wrapped.cause).toMatchObject({
      name: 'TypeError',
      message: `refused {"token":"${masked}"}`,
      code: 'E',
      data: { apiKey: masked },
    });
  });
});

describe('C2.2 masked values that come back', () => {
  test('C2.2 a marker is refused wherever it stands, with its place', () => {
    for (const [value, path] of [
      [masked, []],
      [` ${masked}\n`, []],
      [{ a: [1, { b: masked }] }, ['a', '1', 'b']],
      [new Map([['k', new Set([masked])]]), ['k', '0']],
      [`{"token":"${masked}"}`, []],
      [JSON.stringify({ body: `{"token":"${masked}"}` }), []],
      [{ note: 'it is [secret:API_KEY]!' }, ['note']],
      [{ [masked]: 1 }, [masked]],
    ] as const)
      expect(() => refuseMasked(value, 'the answer')).toThrow(
        expect.objectContaining({
          code: 'VALUE_MASKED',
          data: expect.objectContaining({ path, where: 'the answer' }) as unknown,
        }),
      );
  });

  test('C2.2 a text that only speaks of it is none', () => {
    for (const value of [
      'The name is [redacted] in the file.',
      ['redacted'],
      { secret: 'x' },
      '[secret: not this]',
      7,
      null,
    ])
      expect(() => refuseMasked(value, 'the answer')).not.toThrow();
  });
});
