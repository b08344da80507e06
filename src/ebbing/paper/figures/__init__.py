"""The figures of the paper and of the studies beyond it; matplotlib is loaded when one is drawn.

A function that draws one panel takes `ax=None`, one that draws several takes `axes=None`. None makes a new figure. Both
return what they drew on.

====================================  =================================================================================
module                                what it draws
====================================  =================================================================================
`fig1`, `fig2`                        Figures 1 and 2 of the paper (`ebbing.paper.fig1`, `ebbing.paper.fig2`)
`forecast_study`                      predicted against measured forgetting (`ebbing.paper.forecasts`)
`frontier`                            accuracy against memory (`ebbing.paper.frontier`)
`method_comparison`                   Table 1 and the ablations (`ebbing.paper.method_comparison`)
`rule_comparison`                     losses of ordering rules (`ebbing.paper.rule_comparison`)
`sensitivity`                         Figure 2 under other settings (`ebbing.paper.sensitivity`)
====================================  =================================================================================
"""
