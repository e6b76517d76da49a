/** Parts that are loaded when they are first shown. */
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** @param load - gives the part; called once it is shown */
export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props): JSX.Element | null {
    const [Part, setPart] = useState<{ readonly type: ComponentType<Props> } | undefined>(loaded && { type: loaded });
    useEffect(() => {
      if (Part === undefined)
        void load().then((type) => {
          loaded = type;
          setPart({ type });
        });
    }, []);
    return Part === undefined ? null : <Part.type {...props} />;
  };
}
