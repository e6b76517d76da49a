/** Deliveries of other systems that start runs or signal them: what a configuration says of each. */

/** A delivery as it came. */
export interface HookDelivery {
  /** The body before anything is parsed: signatures are over these bytes. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** The body as UTF-8. */
  readonly text: string;
  readonly headers: Pick<Headers, 'get'>;
  /** When it came, in epoch ms, to be compared with the time that is signed. */
  readonly now: number;
}

/** What a delivery does. All of it is durable before the sender is answered with 2xx. */
export type HookAction = HookStart | HookSignal | HookReply;

/** Starts a run. */
export interface HookStart {
  /** Name of a graph or workflow that is served. */
  readonly start: string;
  /** The delivery's id: one that comes twice is one run. */
  readonly runId: string;
  readonly input?: unknown;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Sends a run a signal. */
export interface HookSignal {
  readonly signal: string;
  readonly runId: string;
  /** The delivery's id: one that comes twice is one signal. */
  readonly id: string;
  readonly value?: unknown;
  /** What is started first if there is no such run, in the same write. */
  readonly start?: string;
  readonly input?: unknown;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Nothing but an answer, for example to a question whether the address is right. */
export interface HookReply {
  readonly reply: string;
}

/** A hook: who may deliver, and what a delivery does. */
export interface Hook {
  /** Whether the delivery is from whom it should be, and not too old. Anything but `true`, and an error, refuses it with 401. */
  readonly verify: (delivery: HookDelivery) => boolean | Promise<boolean>;
  /** What it does; undefined: nothing, and the sender is answered with 204. Called only with what was verified. */
  readonly take: (delivery: HookDelivery) => HookAction | undefined | Promise<HookAction | undefined>;
  /** Tenant of the runs. Default: that of the server. */
  readonly tenant?: string;
}

/** What is wrong with hooks. @param isCode - whether the configuration is code */
export function hookFaults(hooks: unknown, isCode: boolean): readonly string[] {
  if (hooks === undefined) return [];
  if (!isCode) return ['hooks is code: say it in cairn.config.ts'];
  if (typeof hooks !== 'object' || hooks === null || Array.isArray(hooks))
    return ['hooks is no object of hooks by name'];
  return Object.entries(hooks as Readonly<Record<string, unknown>>).flatMap(([name, hook]) => {
    const { verify, take } = (hook ?? {}) as Partial<Hook>;
    const isHook = typeof verify === 'function' && typeof take === 'function';
    if (!/^[\w.-]{1,100}$/.test(name)) return [`hooks.${name} has a name that is no part of an address`];
    return isHook ? [] : [`hooks.${name} has no verify and take: both are functions`];
  });
}
