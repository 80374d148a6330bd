// The contractions of a lowered graph as a backend's matrix products, none planned twice: equal layers
// contract alike, and what follows a product in its call makes another of it.
#pragma once

#include "napkin/passes/fuse.hpp"

namespace napkin::planning {

/// Target: as plan/planner.hpp says.
template <class Target>
class contraction_table {
 public:
  using product = typename Target::product;
  const graph_view& g;
  buffer<product> products;  // those asked for by index_of, in that order

  constexpr explicit contraction_table(const graph_view& graph) : g(graph) {}

  /// Node id's product with nothing after it.
  constexpr const product& alone(int id) { return kinds[kind_of(id)].alone; }

  /// Which of `products` node id is, with what follows it; form: null for nothing.
  constexpr std::int32_t index_of(int id, const passes::epilogue_form* form) {
    const std::size_t k = kind_of(id);
    const passes::epilogue_form follows = form == nullptr ? passes::epilogue_form{} : *form;
    for (std::size_t i = 0; i < uses.size(); ++i)
      if (uses[i].kind == k && uses[i].has_epilogue == (form != nullptr) && uses[i].form == follows)
        return static_cast<std::int32_t>(i);
    uses.push_back({k, form != nullptr, follows});
    if constexpr (Target::has_epilogues)
      products.push_back(form == nullptr ? kinds[k].alone : Target::with_epilogue(kinds[k].alone, *form));
    else
      products.push_back(kinds[k].alone);
    return static_cast<std::int32_t>(products.size() - 1);
  }

 private:
  struct kind {
    std::int32_t first;  // of the einsums that contract so
    product alone;
  };
  struct use {
    std::size_t kind;
    bool has_epilogue;
    passes::epilogue_form form;
  };
  buffer<kind> kinds;
  buffer<use> uses;  // parallel to `products`

  constexpr std::size_t kind_of(int id) {
    for (std::size_t k = 0; k < kinds.size(); ++k)
      if (passes::contract_alike(g, kinds[k].first, id)) return k;
    const int a = g.operand(id, 0), b = g.operand(id, 1);
    const row::einsum_labels labels(g, id);
    kinds.push_back(
        {id, Target::plan_product({g.nodes[a].type, g.nodes[b].type, g.nodes[id].type},
                                  {labels.operand(0), g.shape_of(a), passes::access_of(g, a).stride},
                                  {labels.operand(1), g.shape_of(b), passes::access_of(g, b).stride},
                                  {labels.result(), g.shape_of(id), row_major_strides(g.shape_of(id))})});
    return kinds.size() - 1;
  }
};

}  // namespace napkin::planning
