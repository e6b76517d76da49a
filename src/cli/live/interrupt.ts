/** Handles Ctrl-C: the first asks to stop cleanly, the second stops at once. */

const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

export interface Interrupt {
  /** Resolves with the exit code when a signal asks to stop; otherwise never. */
  readonly requested: Promise<number>;
  /** Restores the normal meaning of signals. */
  release(): void;
}

export function listenForInterrupt(): Interrupt {
  let isRequested = false;
  let resolve: (code: number) => void = () => undefined;
  const requested = new Promise<number>((settle) => {
    resolve = settle;
  });
  const listeners = Object.entries(signals).map(([signal, code]) => {
    const listener = (): void => {
      if (isRequested) process.exit(code);
      isRequested = true;
      resolve(code);
    };
    process.on(signal, listener);
    return { signal, listener };
  });
  return {
    requested,
    release() {
      for (const { signal, listener } of listeners) process.off(signal, listener);
    },
  };
}
