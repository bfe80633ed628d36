import { parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import type { Plot } from './report.ts'
import { median } from './statistics.ts'

/**
 * Plots medians with Vega-Lite, without a browser. A line through each shows the minimum and
 * maximum.
 */

type Bar = { case: string; server: string; perSecond: number[] }
type Point = { what: string; size: number; milliseconds: number[] }

const width = 640
const config = {
  background: 'white',
  font: 'sans-serif',
  view: { stroke: 'transparent' },
  legend: { labelLimit: 0 },
}

export const throughputPlot = (bars: readonly Bar[]) =>
  plot('throughput', 'Requests per second', {
    width,
    height: { step: 14 },
    data: { values: bars.map(({ perSecond, ...bar }) => ({ ...bar, ...spread(perSecond) })) },
    encoding: {
      y: { field: 'case', type: 'nominal', sort: null, title: null, scale: { paddingInner: 0.3 } },
      yOffset: { field: 'server', sort: null },
    },
    layer: [
      {
        mark: 'bar',
        encoding: {
          x: {
            field: 'median',
            type: 'quantitative',
            title: 'requests/second',
            axis: { format: ',d' },
          },
          color: {
            field: 'server',
            type: 'nominal',
            sort: null,
            title: null,
            legend: { orient: 'top' },
          },
        },
      },
      {
        mark: { type: 'rule', color: '#333' },
        encoding: { x: { field: 'min', type: 'quantitative' }, x2: { field: 'max' } },
      },
    ],
    config,
  })

export const growthPlot = (name: string, title: string, points: readonly Point[]) =>
  plot(name, title, {
    width,
    height: 320,
    data: {
      values: points.map(({ milliseconds, ...point }) => ({ ...point, ...spread(milliseconds) })),
    },
    encoding: {
      x: {
        field: 'size',
        type: 'quantitative',
        scale: { type: 'log' },
        title: 'apps',
        axis: sizesAxis(points),
      },
      color: { field: 'what', type: 'nominal', sort: null, title: null, legend: { orient: 'top' } },
    },
    layer: [
      {
        mark: { type: 'line', point: true },
        encoding: {
          y: {
            field: 'median',
            type: 'quantitative',
            scale: { type: 'log' },
            title: 'milliseconds',
          },
        },
      },
      {
        mark: 'rule',
        encoding: { y: { field: 'min', type: 'quantitative' }, y2: { field: 'max' } },
      },
    ],
    config,
  })

const spread = (values: readonly number[]) => ({
  median: median(values),
  min: Math.min(...values),
  max: Math.max(...values),
})

const sizesAxis = (points: readonly Point[]) => ({
  values: [...new Set(points.map(({ size }) => size))],
  format: ',d',
  grid: false,
})

async function plot(name: string, title: string, spec: TopLevelSpec): Promise<Plot> {
  const view = new View(parse(compile(spec).spec), { renderer: 'none' })
  return { name, title, svg: `${await view.toSVG()}\n` }
}
