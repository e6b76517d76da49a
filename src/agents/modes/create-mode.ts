/** Makes a mode by its name. */
import { jsonMode } from './json.ts';
import type { Mode, ModeName, Offer } from './mode.ts';
import { nativeMode } from './native.ts';
import { reactMode } from './react.ts';
import { xmlMode } from './xml.ts';

const modes: Readonly<Record<ModeName, (offer: Offer) => Mode>> = {
  native: nativeMode,
  json: jsonMode,
  xml: xmlMode,
  react: reactMode,
};

export const modeNames: readonly ModeName[] = ['native', 'json', 'xml', 'react'];

export function createMode(name: ModeName, offer: Offer): Mode {
  return modes[name](offer);
}
