/** Sizes as people read them: `12 bytes`, `3.0 MiB`. */
export function formatSize(sizeBytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, sizeBytes)) / 10));
  return `${(sizeBytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power] ?? ''}`;
}
