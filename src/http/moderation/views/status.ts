import { statusFields } from '../../../moderation/describe.ts'
import type { readStatus } from '../../../moderation/status-store.ts'
import { html } from '../../html.ts'
import { type Frame, layout } from './layout.ts'
import { fieldList } from './parts.ts'

export const statusPage = (frame: Frame, status: Awaited<ReturnType<typeof readStatus>>) =>
  layout(
    frame,
    'Status',
    html`<h1>Status</h1>
<div class="card">${fieldList(statusFields(status))}</div>`,
  )
