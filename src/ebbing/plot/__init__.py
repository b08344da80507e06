"""Every figure of the package; matplotlib is loaded when one is drawn.

A function that draws one panel takes `ax=None`, one that draws several takes `axes=None`. None makes a new figure. Both
return what they drew on.

==========================================  ===========================================================================
module                                      what it draws
==========================================  ===========================================================================
`errors`                                    error matrices, as curves or as a heat map, and grids of expectations
`samples`                                   histograms of simulated forgetting and generalization error
`metrics`                                   the metrics of a measured matrix
`order`                                     distances between tasks, and task orders
`fig1`, `fig2`                              Figures 1 and 2 of the paper (`ebbing.paper.fig1`, `ebbing.paper.fig2`)
`method_comparison`                         Table 1 and the ablations (`ebbing.paper.method_comparison`)
`rule_comparison`                           losses of ordering rules (`ebbing.paper.rule_comparison`)
`sensitivity`                               Figure 2 under other settings (`ebbing.paper.sensitivity`)
==========================================  ===========================================================================
"""
