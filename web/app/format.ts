// Numbers for people.

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ${units[unit]}`;
}

export function formatCount(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(2)} billion`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(0)} million`;
  return count.toLocaleString('en');
}

export function formatSeconds(seconds: number): string {
  return `${seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(0)} s`;
}
