/**
 * Checks the values of options, for callers without types. A wrong value is refused where it is written, with every other one (G9):
 * otherwise it would be ignored, or fail in the middle of a run.
 */
import { CairnError } from '../errors.ts';
import { isPlainObject } from '../graph/canonical.ts';
import { reasoningEfforts } from '../graph/contracts/model-messages.ts';
import { checkRetry } from '../graph/validate/validate-nodes.ts';
import {
  checkLimit,
  checkFields,
  checkOneOf,
  checkRange,
  checkType,
  createReport,
  formatValue,
  type Report,
} from '../graph/validate/violations.ts';
import { historyFault } from './history/conversation.ts';
import type { OnChange } from './model/call-record.ts';

/** Options that agents and nodes of one answer share. */
export interface AskingOptions {
  readonly instructions?: unknown;
  readonly prompt?: unknown;
  readonly settings?: unknown;
  readonly calls?: unknown;
}

/** The options of an agent whose values are checked here. */
export interface AgentOptions extends AskingOptions {
  readonly mode?: unknown;
  readonly maxLoops?: unknown;
  readonly tools?: unknown;
  readonly servers?: unknown;
  readonly files?: unknown;
  readonly allow?: unknown;
  readonly history?: unknown;
  readonly chat?: unknown;
  readonly onChange?: unknown;
  readonly description?: unknown;
  readonly callsMax?: unknown;
}

/** What may become of a conversation whose code has changed. */
export const onChanges: readonly [OnChange, ...OnChange[]] = ['continue', 'refuse'];

const settingNames = ['temperature', 'tokensMax', 'reasoning', 'provider'];
const callNames = ['retry', 'timeoutMs', 'limit', 'idempotent'];
const answerCallNames = [...callNames, 'fallbacks', 'counted'];

/** @throws CONFIG_INVALID names every fault of an agent's options */
export function checkAgentOptions(config: AgentOptions, modes: readonly string[]): void {
  const { mode, maxLoops, tools, servers, files, allow, history, chat, onChange, settings, description, callsMax } =
    config;
  refuseFaults('agent', (report) => {
    checkOneOf(report, 'G9', '', 'mode', mode, modes);
    checkRange(report, '', 'maxLoops', maxLoops, { min: 1 });
    checkRange(report, '', 'callsMax', callsMax, { min: 0 });
    checkType(report, '', 'description', description, 'string');
    checkThat(report, 'tools', tools, isRecord, 'give an object of tools by name');
    checkThat(report, 'servers', servers, isListOf(isServer), 'give a list of what mcpTools makes');
    checkThat(report, 'files', files, isFileStore, 'give what localFiles or memoryFiles makes');
    checkThat(
      report,
      'allow',
      allow,
      (value) => value === true || isTexts(value),
      'give a list of names, or true for all',
    );
    checkOneOf(report, 'A3', '', 'onChange', onChange, onChanges);
    checkThat(report, 'history', history, isRecord, 'give an object of limits');
    const isName = (value: unknown): boolean => typeof value === 'string' && /^[A-Za-z_]\w*$/u.test(value);
    checkThat(report, 'chat', chat, isName, 'give the name of a list in scratch, such as chat');
    const fault = isRecord(history) ? historyFault(history) : undefined;
    if (fault !== undefined) report.error('A8', '', fault, '');
    checkAsking(report, config, [...settingNames, 'toolChoice'], callNames);
    if (isRecord(settings)) checkToolChoice(report, settings['toolChoice'], mode);
  });
}

/** @throws CONFIG_INVALID names every fault of these options of a node that takes one answer */
export function checkAnswerOptions(builder: string, config: AskingOptions): void {
  refuseFaults(builder, (report) => checkAsking(report, config, settingNames, answerCallNames));
}

/** @throws CONFIG_INVALID names every fault that the checks report */
export function refuseFaults(builder: string, check: (report: Report) => void): void {
  const report = createReport();
  check(report);
  if (report.violations.length === 0) return;
  const faults = report.violations.map(({ message, fix }) => (fix === '' ? message : `${message}: ${fix}`));
  throw new CairnError('CONFIG_INVALID', { reason: `${builder}: ${faults.join('; ')}` });
}

/** Reports a value that does not fit. An option that is absent always fits. */
export function checkThat(
  report: Report,
  field: string,
  value: unknown,
  fits: (value: unknown) => boolean,
  fix: string,
): void {
  if (value !== undefined && !fits(value)) report.error('G9', '', `${field} is ${formatValue(value)}`, fix);
}

/** Whether a value is a list of texts. */
export const isTexts = (value: unknown): boolean => isListOf((one) => typeof one === 'string')(value);

function checkAsking(
  report: Report,
  { instructions, prompt, settings, calls }: AskingOptions,
  settingKeys: readonly string[],
  callKeys: readonly string[],
): void {
  const isFunction = (value: unknown): boolean => typeof value === 'function';
  const isText = (value: unknown): boolean => typeof value === 'string' || isFunction(value);
  checkThat(report, 'instructions', instructions, isText, 'give a text, or a function of the state');
  const isPrompt = (value: unknown): boolean => isText(value) || Array.isArray(value);
  checkThat(report, 'prompt', prompt, isPrompt, 'give a text, messages, or a function of the state');
  checkThat(report, 'settings', settings, isRecord, 'give an object of settings');
  if (isRecord(settings)) {
    checkFields(report, '', settings, settingKeys, 'settings.');
    checkRange(report, '', 'settings.temperature', settings['temperature'], { min: 0, isWhole: false });
    checkRange(report, '', 'settings.tokensMax', settings['tokensMax'], { min: 1 });
    const isEffort = (value: unknown): boolean => (reasoningEfforts as readonly unknown[]).includes(value);
    checkThat(report, 'settings.reasoning', settings['reasoning'], isEffort, `use ${reasoningEfforts.join(', ')}`);
    const isByProvider = (value: unknown): boolean => isRecord(value) && Object.values(value).every(isRecord);
    checkThat(report, 'settings.provider', settings['provider'], isByProvider, 'give an object of options by provider');
  }
  checkThat(report, 'calls', calls, isRecord, 'give an object of options');
  if (!isRecord(calls)) return;
  const { retry, timeoutMs, limit, idempotent, fallbacks } = calls;
  checkLimit(report, '', limit);
  checkFields(report, '', calls, callKeys, 'calls.');
  checkRange(report, '', 'calls.timeoutMs', timeoutMs, { min: 1 });
  checkType(report, '', 'calls.idempotent', idempotent, 'boolean');
  checkThat(report, 'calls.fallbacks', fallbacks, isTexts, 'give a list of names of models');
  checkThat(report, 'calls.retry', retry, isRecord, 'give an object, such as { attempts: 3 }');
  if (isRecord(retry)) checkRetry(report, '', retry as never);
}

function checkToolChoice(report: Report, choice: unknown, mode: unknown): void {
  const fits = (value: unknown): boolean =>
    isRecord(value)
      ? typeof value['tool'] === 'string' && Object.keys(value).length === 1
      : ['auto', 'none', 'required'].includes(value as string);
  checkThat(report, 'settings.toolChoice', choice, fits, "use 'auto', 'none', 'required' or { tool: NAME }");
  if (choice !== undefined && mode !== undefined && mode !== 'native')
    report.error(
      'A10',
      '',
      `settings.toolChoice is for tool calls of the provider's own, and the mode is ${formatValue(mode)}`,
      'leave one of them out',
    );
}

/** Whether a value is an object of values by name, and no instance of a class. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && isPlainObject(value);
}

const isListOf =
  (fits: (one: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every(fits);

const isServer = (value: unknown): boolean =>
  isRecord(value) && isRecord(value['config']) && typeof value['config']['server'] === 'string';

const isFileStore = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && typeof (value as { readonly open?: unknown }).open === 'function';

/** @throws CONFIG_INVALID `model` is not a name */
export function checkModel(builder: string, model: unknown): void {
  if (typeof model !== 'string' || model === '')
    throw new CairnError('CONFIG_INVALID', { reason: `${builder}: model must be the name of a model` });
}
