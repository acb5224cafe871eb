#pragma once

#include <vector>

#include "lib/yaml/node.h"
#include "lib/yaml/reader.h"
#include "service/saga/definition.h"

namespace outrigger::saga {

/// Puts the steps in an order in which each comes later than the steps of its `after`, otherwise as in the file, and reports what
/// makes the graph impossible: names that are there twice or not at all, cycles, a pivot that does not part the steps in two.
/// `nodes` are the steps in the file.
void order_steps(Definition& definition, const std::vector<const yaml::Node*>& nodes, yaml::Problems& problems);

}  // namespace outrigger::saga
