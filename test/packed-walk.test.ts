/**
 * A walk on the installed package, as a stranger takes it: with the command and the library that npm installed, and nothing of the
 * repository. Each case tries one promise that is proved in detail elsewhere, on the sources.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { dialectCases } from './packed/dialects.ts';
import { doorCases } from './packed/doors.ts';
import { promiseCases } from './packed/promises.ts';
import { securityCases } from './packed/security.ts';
import type { InstalledPackage } from './support/installed-package.ts';
import { endAll, installWithPeers, openPlace, type Place } from './support/packed-place.ts';
import { isProving } from './support/scale.ts';

const timeoutMs = 180_000;
/** Of building, packing and installing, which share a busy machine. */
const installMs = 900_000;

describe.skipIf(!isProving)('the installed package (minutes: only in `npm run prove`)', { timeout: timeoutMs }, () => {
  let installed: InstalledPackage;
  beforeAll(() => void (installed = installWithPeers()), installMs);
  afterAll(async () => {
    await endAll();
    installed?.remove();
  });
  const place = (): Place => openPlace(installed);

  describe('security', () => {
    securityCases(place);
  });
  describe('promises', () => {
    promiseCases(place, () => installed);
  });
  describe('dialects', () => {
    dialectCases(place, () => installed);
  });
  describe('doors', () => {
    doorCases(place, () => installed);
  });
});
