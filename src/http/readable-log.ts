import { type DestinationStream, levels } from 'pino'
import { sanitize } from '../util/text.ts'

/** The fields of a log line that are shown; all but the first three are of requests or errors. */
type LogLine = {
  time: number
  level: number
  msg: string
  req?: { url?: string }
  responseTime?: number
  err?: { stack: string }
}

/** Writes the log's JSON lines as text for people: `14:03:05 info GET 200 /apps?page=2 3 ms`. */
export const readableLog = (destination: DestinationStream): DestinationStream => ({
  write: (json) => destination.write(`${sanitize(format(JSON.parse(json)))}\n`),
})

function format({ time, level, msg, req, responseTime, err }: LogLine): string {
  const clock = new Date(time).toTimeString().slice(0, 8)
  const duration = responseTime === undefined ? undefined : `${Math.round(responseTime)} ms`
  const line = [clock, levels.labels[level], msg, req?.url, duration]
    .filter((part) => part !== undefined)
    .join(' ')
  return err === undefined ? line : `${line}\n${err.stack}`
}
