/** Checks the values of a tool's options, for callers without types. A wrong one of `approval` must not mean that nobody is asked. */
import { checkRetry, effects } from '../../graph/validate/validate-nodes.ts';
import { checkLimit, checkOneOf, checkRange, checkType, type Report } from '../../graph/validate/violations.ts';
import { checkThat, isRecord, refuseFaults } from '../check-options.ts';

/** Options of tools, of whatever kind. */
interface ToolOptionValues {
  readonly effect?: unknown;
  readonly idempotent?: unknown;
  readonly retry?: unknown;
  readonly timeoutMs?: unknown;
  readonly limit?: unknown;
  readonly reconcile?: unknown;
  readonly approval?: unknown;
  readonly audience?: unknown;
  readonly composed?: unknown;
  readonly cacheable?: unknown;
  readonly callsMax?: unknown;
  readonly showsImages?: unknown;
  readonly onFailure?: unknown;
  readonly result?: unknown;
}

/** @throws CONFIG_INVALID names every fault */
export function checkToolOptions(builder: string, options: ToolOptionValues): void {
  refuseFaults(builder, (report) => {
    checkCall(report, options);
    const { approval, audience, composed, cacheable, callsMax, showsImages, onFailure, result } = options;
    const isApproval = (value: unknown): boolean =>
      typeof value === 'function' || value === 'always' || value === 'never';
    checkThat(report, 'approval', approval, isApproval, "use 'always', 'never' or a function of the arguments");
    checkOneOf(report, 'A6', '', 'audience', audience, ['staff', 'user']);
    for (const [name, value] of Object.entries({ composed, cacheable, showsImages }))
      checkType(report, '', name, value, 'boolean');
    checkRange(report, '', 'callsMax', callsMax, { min: 0 });
    checkOneOf(report, 'A5', '', 'onFailure', onFailure, ['tell', 'fail']);
    checkType(report, '', 'result', result, 'string');
  });
}

function checkCall(report: Report, { effect, idempotent, retry, timeoutMs, limit, reconcile }: ToolOptionValues): void {
  checkLimit(report, '', limit);
  checkOneOf(report, 'A4', '', 'effect', effect, effects);
  checkType(report, '', 'idempotent', idempotent, 'boolean');
  checkThat(report, 'retry', retry, isRecord, 'give an object, such as { attempts: 3 }');
  if (isRecord(retry)) checkRetry(report, '', retry as never);
  checkRange(report, '', 'timeoutMs', timeoutMs, { min: 1 });
  checkType(report, '', 'reconcile', reconcile, 'function');
}
