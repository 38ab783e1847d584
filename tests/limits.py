"""Limits of the code that tests change, so that a small example exceeds them, and where each lies.

A test then needs no import of the module, and a limit that moves changes one line here.
"""

LIMITS = {
    # branch and bound
    "best_first_seconds": "solvers.algorithms.branch_and_bound.forecast.BEST_FIRST_SECONDS",
    "calls_before_forecast": "solvers.algorithms.branch_and_bound.search.FIRST_CALLS",
    "leaf_variables": "solvers.algorithms.branch_and_bound.strong_tree.LEAF",
    "open_nodes": "solvers.algorithms.branch_and_bound.strong_tree.MOST_OPEN",
    "probe_nodes": "solvers.algorithms.branch_and_bound.strong_tree.PROBE",
    "relaxation_rounds": "solvers.algorithms.branch_and_bound.strong_tree.ROUNDS",
    "triangle_seconds": "solvers.algorithms.branch_and_bound.forecast.STRONG_SECONDS",
    "work_per_call": "solvers.algorithms.branch_and_bound.search.WORK_A_CALL",
    # other searches for bits
    "building_nanoseconds": "solvers.algorithms.presolve.model_building.LEAST_NANOSECONDS",
    "capacities_per_call": "solvers.algorithms.presolve.roof_duality.CAPACITIES_A_CALL",
    "constrained_seconds": "solvers.algorithms.presolve.constrained.FIRST_SECONDS",
    "cut_graph_instances": "solvers.backends.pymaxflow.GRAPH",
    "dense_share": "solvers.algorithms.cycle_cuts.sweep.DENSE_SHARE",
    "large_flow_scores": "solvers.backends.max_flow.LARGE",
    "largest_part": "solvers.algorithms.local_search.subgraph_moves.LARGEST_PART",
    "long_bits": "solvers.backends.pymaxflow.LONG_BITS",
    "quick_roof_seconds": "solvers.algorithms.presolve.roof_duality.QUICK",
    "search_depth": "solvers.algorithms.dual_ascent.search.DEPTH",
    "stack_bytes": "solvers.algorithms.dual_ascent.search.STACK_MEMORY",
    "tabu_up_to": "solvers.algorithms.local_search.subgraph_moves.TABU_UP_TO",
    "visits_per_call": "solvers.algorithms.dual_ascent.search.VISITS_A_CALL",
    # elimination and sums
    "lane_bytes": "solvers.gibbs_distribution.sum_product.MEMORY",
    "large_bytes": "solvers.limits.memory.LARGE",
    "long_entries": "solvers.backends.elimination.LONG_ENTRIES",
    "nanoseconds_per_thread": "solvers.compiled.threads.NANOSECONDS_A_THREAD",
    "watched_entries": "solvers.algorithms.elimination.max_sum.WATCHED",
    # labels
    "entries_per_visit": "solvers.labels.messages_first.ENTRIES_A_VISIT",
    "factored_values": "solvers.labels.algorithms.step_tables.FACTORED",
    "label_visits_per_call": "solvers.labels.algorithms.dual_ascent.search.VISITS_A_CALL",
    "part_bytes": "solvers.labels.algorithms.buckets.PART_BYTES",
    "seconds_per_entry": "solvers.labels.messages_first.SECONDS_AN_ENTRY",
    "short_entries": "solvers.labels.algorithms.sum_bounds.SHORT_ENTRIES",
    # networks and evaluations
    "decoded_together": "models.networks.decoder.DECODED_TOGETHER",
    "enumerated_bits": "structured_vae.vaes.discrete.evaluation.ENUMERATED_BITS",
    "gradient_rows": "structured_vae.evaluation.gradients.ROWS",
    "kept_outputs": "models.networks.own_networks.KEPT_OUTPUTS",
    "own_decoded_together": "models.networks.own_networks.DECODED_TOGETHER",
    "weighted_together": "structured_vae.evaluation.importance.DECODED_TOGETHER",
    # learning, data and commands
    "faces_together": "structured_vae.data.celeba.decoded.TOGETHER",
    "finer_pixels": "structured_vae.explorer.upload.FINER",
    "graphs_together": "structured_vae.learn.sums.BATCH",
    "last_seconds": "structured_vae.training.forgiving.LAST_SECONDS",
    "progress_delay": "structured_vae.cli.solve.live.DELAY",
    "stop_seconds": "structured_vae.cli.solve.chunks.GRACE",
    "tokens_together": "structured_vae.learn.sums.TOKENS",
}
