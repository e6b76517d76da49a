/** Events as lines: of JSON with pino's fields, or plain for people. */
import { expect, test } from 'vitest';
import { until } from '../../../test/support/awaited.ts';
import { createLineLog, logWarnings, type LineLogOptions } from './line-log.ts';

function linesOf(options: Omit<LineLogOptions, 'write'>): { log: ReturnType<typeof createLineLog>; lines: string[] } {
  const lines: string[] = [];
  return { log: createLineLog({ write: (line) => void lines.push(line), ...options }), lines };
}

const failed = {
  event: 'failed',
  run: 'r1',
  graph: 'pay',
  node: 'charge',
  worker: 'w',
  err: {
    type: 'Error',
    code: 'E_CARD',
    message: 'card refused',
    stack: 'Error: card refused\n    at charge (/app/pay.ts:9:11)',
  },
};

test('E10.8 an event is one line of JSON with the fields that readers of pino know', () => {
  const { log, lines } = linesOf({ isPlain: false });
  log.error(failed, 'charge: card refused [E_CARD]\nat /app/pay.ts');
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain('\n');
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 50,
    time: expect.any(Number) as number,
    msg: 'charge: card refused [E_CARD]\nat /app/pay.ts',
    ...failed,
  });
});

test('E10.8 of an error of this library, a line for people ends with what to do next', () => {
  const { log, lines } = linesOf({ isPlain: true });
  const err = { type: 'CairnError', code: 'RUN_GRAPH_CHANGED', message: 'it is gone', hint: 'Put it back.' };
  log.error({ event: 'stopped', run: 'r1', err }, 'it is gone [RUN_GRAPH_CHANGED]');
  expect(lines).toEqual(['stopped    r1  it is gone [RUN_GRAPH_CHANGED] Put it back.']);
});

test('E10.8 for people an event is a plain line, with paths below their folder and nothing that a terminal would obey', () => {
  const { log, lines } = linesOf({ isPlain: true, cwd: '/app' });
  log.info({ event: 'taken', run: 'r1' }, 'taken');
  log.error(failed, 'charge: card refused at charge (/app/pay.ts:9:11)');
  log.info({ event: 'working' }, 'Working on sqlite:x');
  log.warn({ event: 'stopped', run: 'r\u001b[2J' }, 'bad\u001b]0;title\u0007');
  expect(lines.slice(0, 3)).toEqual([
    'taken      r1',
    'failed     r1  charge: card refused at charge (pay.ts:9:11)',
    'Working on sqlite:x',
  ]);
  expect(lines[3]).not.toContain('\u001b');
});

test('E10.8 what is below the level is not logged', () => {
  const levelsOf = (level: NonNullable<LineLogOptions['level']> | undefined): readonly number[] => {
    const { log, lines } = linesOf({ isPlain: false, level });
    for (const each of ['debug', 'info', 'warn', 'error'] as const) log[each]({ event: each }, each);
    return lines.map((line) => (JSON.parse(line) as { level: number }).level);
  };
  expect(levelsOf(undefined)).toEqual([30, 40, 50]);
  expect(levelsOf('debug')).toEqual([20, 30, 40, 50]);
  expect(levelsOf('error')).toEqual([50]);
  expect(levelsOf('silent')).toEqual([]);
});

test('E10.8 what the process warns of goes to the log, until it ends', async () => {
  const { log, lines } = linesOf({ isPlain: false });
  const listeners = process.listeners('warning');
  const end = logWarnings(log);
  process.emitWarning('a thing is odd', { code: 'CAIRN_ODD', detail: 'more of it' });
  await until('the warning is logged', () => lines.length > 0, 5);
  end();
  expect(process.listeners('warning')).toEqual(listeners);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 40,
    event: 'warning',
    code: 'CAIRN_ODD',
    detail: 'more of it',
    msg: '[CAIRN_ODD] a thing is odd',
  });
});
