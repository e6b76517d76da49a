/** Handles Ctrl-C: the first asks to stop cleanly, the second stops at once. */

const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

export interface Interrupt {
  /** Resolves with the exit code when a signal asks to stop; otherwise never. */
  readonly asked: Promise<number>;
  /** Restores the normal meaning of signals. */
  release(): void;
}

export function listenForInterrupt(): Interrupt {
  let isAsked = false;
  let resolve: (code: number) => void = () => undefined;
  const asked = new Promise<number>((settle) => {
    resolve = settle;
  });
  const listeners = Object.entries(signals).map(([signal, code]) => {
    const listener = (): void => {
      if (isAsked) process.exit(code);
      isAsked = true;
      resolve(code);
    };
    process.on(signal, listener);
    return { signal, listener };
  });
  return {
    asked,
    release() {
      for (const { signal, listener } of listeners) process.off(signal, listener);
    },
  };
}
