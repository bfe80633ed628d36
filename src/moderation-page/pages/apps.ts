import type { Response } from 'express'
import { findNamedApps } from '../../catalogue/app-store.ts'
import type { Html } from '../../http/html.ts'
import { findApps } from '../../moderation/finder.ts'
import { fieldOf } from '../forms.ts'
import { appsPage } from '../parts/apps.ts'
import { type PageContext, readFrame, readPage } from './page.ts'

const maxFound = 50

export function renderApps(context: PageContext, response: Response): Promise<Html> {
  const text = fieldOf(response.req.query, 'text').trim()
  return readPage(context, response.req, async (runner) => {
    const { ids, hasMore } = await findApps(runner, text, maxFound)
    const frame = await readFrame(context, runner, response, 'apps')
    return appsPage(frame, { text, apps: await findNamedApps(runner, ids), hasMore })
  })
}
