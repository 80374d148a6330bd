// Products by cuBLASLt: descriptors, the choice of an algorithm, calls.
#include "napkin/cuda/blas.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "napkin/core/error.hpp"
#include "napkin/cuda/batch_addresses.hpp"
#include "napkin/cuda/device.hpp"
#include "napkin/cuda/time_in_turns.hpp"

namespace napkin::on_cuda {
namespace {

/// Where CUDA has a sticky error, that is what happened; else cuBLASLt's own status.
void check_blas(blas_calls& calls, int status, const char* call, const std::string& object,
                std::source_location where) {
  if (status == 0) return;
  const int last = calls.cuda().get_last_error();
  if (is_sticky(last)) throw_cuda_error(calls.cuda(), last, call, object, where);
  std::string text = call;
  if (!object.empty()) text += " of " + object;
  text += " failed at " + std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " +
          calls.status_name(status);
  throw cuda_error(text, call, status);
}

std::string text_of(const blas_product& p) {
  std::string s;
  const auto number = [&](const char* before, auto value) { s += before + std::to_string(value); };
  s += name_of(p.a.type);
  if (p.b.type != p.a.type) s += " by " + std::string(name_of(p.b.type));
  s += " to " + std::string(name_of(p.c.type));
  s += p.compute == blas_compute::tf32       ? " by tf32 "
       : p.compute == blas_compute::fast_f32 ? " added fast "
                                             : " ";
  s += p.transpose_a ? "T" : "N";
  s += p.transpose_b ? "T" : "N";
  number(" ", p.m);
  number("x", p.n);
  number("x", p.k);
  number(" ld ", p.a.ld);
  number(",", p.b.ld);
  number(",", p.c.ld);
  if (p.batch != 1) {
    number(" batch ", p.batch);
    number(" by ", p.a.batch_stride);
    number(",", p.b.batch_stride);
    number(",", p.c.batch_stride);
  }
  return s;
}

/// This algorithm is not for this device or product, which is no failure where another may be.
constexpr bool does_not_run(int status) {
  constexpr int invalid_value = 7, arch_mismatch = 8, not_supported = 15;  // of cublasStatus_t
  return status == invalid_value || status == arch_mismatch || status == not_supported;
}

/// The largest power of two, up to 256, that divides x.
std::uint64_t alignment_of(std::uint64_t x) {
  std::uint64_t power = 256;
  while (x % power != 0) power /= 2;
  return power;
}

constexpr bool has_bias(blas_epilogue e) {
  return e != blas_epilogue::none && e != blas_epilogue::gelu && e != blas_epilogue::gelu_saved &&
         e != blas_epilogue::gelu_gradient;
}

/// Bytes. cuBLASLt's heuristics know of no address yet, so that it says so of the call: not supported.
constexpr std::uint64_t factor_alignment = 16;
constexpr descriptor_attribute factor_attributes[most_factors] = {descriptor_attribute::factor_a,
                                                                  descriptor_attribute::factor_b};

const void* advance(const void* from, std::ptrdiff_t elements, dtype type) {
  return static_cast<const std::byte*>(from) + elements * static_cast<std::ptrdiff_t>(size_of(type));
}

}  // namespace

void report_failure(blas_calls& calls, int status, const char* call) noexcept {
  if (status == 0) return;
  end_if_sticky(calls.cuda(), calls.cuda().get_last_error(), call);
  try {
    calls.cuda().report("napkin: " + std::string(call) + " failed: " + calls.status_name(status));
  } catch (...) {  // no memory for the text
    calls.cuda().report(call);
  }
}

blas_library::blas_library(blas_calls& calls, std::source_location where) : calls_(&calls) {
  identity_ = std::to_string(calls.version()) + '\t' + facts_of_device(calls.cuda(), where).name;
  blas_handle made = nullptr;
  check_blas(calls, calls.create(made), "cublasLtCreate", "", where);
  handle_ = {calls, made};
}

blas_call::blas_call(const blas_library& library, const blas_product& product, const blas_request& request,
                     std::source_location where)
    : library_(&library), product_(product), request_(request) {
  if (!product.possible)
    throw error("blas: no GEMM says this contraction: " + std::string(words_of(product.reason)));
  if (!can_fuse(product, request.epilogue, request.aux_ld, request.aux_batch_stride))
    throw error("blas: cuBLASLt has no such epilogue for the product " + text_of(product));
  if (request.factors > most_factors || (request.factors > 0 && !is_8_bit_float(product.a.type)))
    throw error("blas: cuBLASLt takes no such factors of the product " + text_of(product));
  if (product.calls() == 0) return;

  blas_calls& calls = library.calls();
  align_ = {product.swapped ? request.align_b : request.align_a,
            product.swapped ? request.align_a : request.align_b, request.align_c};
  const blas_matrix* const matrices[] = {&product.a, &product.b, &product.c};
  // two's complement: a multiple stays one when it is negative
  const auto lower = [&](std::uint64_t& align, std::size_t i, std::ptrdiff_t offset) {
    align = std::min(align, alignment_of(static_cast<std::uint64_t>(offset) * size_of(matrices[i]->type)));
  };
  product.for_each_call([&](std::ptrdiff_t a, std::ptrdiff_t b, std::ptrdiff_t c, bool) {
    lower(align_[0], 0, a), lower(align_[1], 1, b), lower(align_[2], 2, c);
  });
  align_each_ = align_;
  for (std::size_t i = 0; i < 3; ++i)
    if (product.batch > 1) lower(align_each_[i], i, matrices[i]->batch_stride);

  const std::string object = text_of(product);
  key_ = library.identity() + '\t' + object + " align " + std::to_string(align_[0]) + "," +
         std::to_string(align_[1]) + "," + std::to_string(align_[2]);
  if (request.epilogue != blas_epilogue::none)
    key_ += " epilogue " + std::to_string(static_cast<int>(request.epilogue)) + " aux " +
            std::to_string(request.aux_ld) + " by " + std::to_string(request.aux_batch_stride) + " align " +
            std::to_string(request.align_bias) + "," + std::to_string(request.align_aux);

  if (request.factors > 0) key_ += " factors " + std::to_string(request.factors);

  const bool may_take_addresses = request.gives_addresses && product.has_address_arrays();
  if (may_take_addresses)
    key_ += " matrices " + std::to_string(product.entries()) + " sums " +
            std::to_string(blas_product::size_of(product.outer_k));

  blas_descriptor operation = nullptr;
  check_blas(calls, calls.descriptor_create(operation, product.compute, product.scale),
             "cublasLtMatmulDescCreate", object, where);
  operation_ = {calls, operation};
  set(descriptor_attribute::transpose_a, product.transpose_a, where);
  set(descriptor_attribute::transpose_b, product.transpose_b, where);
  if (product.compute == blas_compute::fast_f32) set(descriptor_attribute::adds_fast, 1, where);
  if (request.epilogue != blas_epilogue::none)
    set(descriptor_attribute::epilogue, static_cast<std::int64_t>(request.epilogue), where);
  // Said, though they are the defaults: a gradient's would else be the library's to choose.
  const auto result_type = static_cast<std::int64_t>(product.c.type);
  if (has_bias(request.epilogue)) {
    set(descriptor_attribute::bias_type, result_type, where);
    set(descriptor_attribute::bias, static_cast<std::int64_t>(request.align_bias), where);  // so far
  }
  if (has_auxiliary(request.epilogue)) {
    set(descriptor_attribute::aux_type, result_type, where);
    set(descriptor_attribute::aux, static_cast<std::int64_t>(request.align_aux), where);
    set(descriptor_attribute::aux_ld, request.aux_ld, where);
    if (product.batch > 1) set(descriptor_attribute::aux_batch_stride, request.aux_batch_stride, where);
  }
  for (std::uint8_t i = 0; i < request.factors; ++i)  // so far: any aligned address
    set(factor_attributes[i], factor_alignment, where);
  strided_ = make_layouts(false, where);
  if (may_take_addresses) addressed_ = make_layouts(true, where);
}

blas_call::layouts blas_call::make_layouts(bool by_addresses, std::source_location where) const {
  blas_calls& calls = library_->calls();
  const std::string object = text_of(product_);
  const blas_matrix* const matrices[] = {&product_.a, &product_.b, &product_.c};
  layouts made;
  for (std::size_t i = 0; i < 3; ++i) {
    blas_layout layout = nullptr;
    check_blas(calls, calls.layout_create(layout, *matrices[i]), "cublasLtMatrixLayoutCreate", object, where);
    made[i] = {calls, layout};
    const auto set = [&](layout_attribute attribute, std::int64_t value) {
      const int status = calls.layout_set(layout, attribute, value);
      if (attribute == layout_attribute::by_addresses && does_not_run(status)) return false;
      check_blas(calls, status, "cublasLtMatrixLayoutSetAttribute", object, where);
      return true;
    };
    if (by_addresses) {
      if (!set(layout_attribute::by_addresses, 1)) return {};
      set(layout_attribute::batch_count, static_cast<std::int64_t>(product_.entries()));
    } else if (product_.batch > 1) {
      set(layout_attribute::batch_count, static_cast<std::int64_t>(product_.batch));
      set(layout_attribute::batch_stride, matrices[i]->batch_stride);
    }
  }
  return made;
}

void blas_call::set(descriptor_attribute attribute, std::int64_t value, std::source_location where) {
  blas_calls& calls = library_->calls();
  const int status = calls.descriptor_set(operation_.get(), attribute, value);
  if (status != 0) check_blas(calls, status, "cublasLtMatmulDescSetAttribute", text_of(product_), where);
}

bool blas_call::take(const blas_algorithm* known, std::size_t workspace, std::source_location where) {
  if (known == nullptr || known->left != apart::nothing || (known->by_addresses && !takes_addresses()))
    return false;
  blas_algorithm algorithm = *known;
  blas_calls& calls = library_->calls();
  const int status = calls.check_algorithm(library_->handle(), descriptors(known->by_addresses), algorithm);
  if (!does_not_run(status)) check_blas(calls, status, "cublasLtMatmulAlgoCheck", text_of(product_), where);
  if (status != 0 || algorithm.workspace > workspace) return false;
  algorithm_ = algorithm;
  return chosen_ = true;
}

std::vector<blas_algorithm> blas_call::find_candidates(std::size_t workspace, std::size_t most,
                                                       std::source_location where) {
  std::vector<blas_algorithm> found;
  if (takes_addresses()) add_candidates(true, workspace, most, found, where);
  if (product_.calls() <= most_calls) add_candidates(false, workspace, most, found, where);
  return found;
}

void blas_call::add_candidates(bool by_addresses, std::size_t workspace, std::size_t most,
                               std::vector<blas_algorithm>& to, std::source_location where) {
  blas_calls& calls = library_->calls();
  const std::string object = text_of(product_);
  const std::array<std::uint64_t, 3>& align = by_addresses ? align_each_ : align_;
  blas_preference made = nullptr;
  check_blas(calls, calls.preference_create(made), "cublasLtMatmulPreferenceCreate", object, where);
  const owned<blas_preference, detail::destroy_preference, blas_calls> preference(calls, made);
  for (const auto& [attribute, value] : {std::pair{preference_attribute::workspace, std::uint64_t{workspace}},
                                         std::pair{preference_attribute::align_a, align[0]},
                                         std::pair{preference_attribute::align_b, align[1]},
                                         std::pair{preference_attribute::align_c, align[2]},
                                         std::pair{preference_attribute::align_d, align[2]}})
    check_blas(calls, calls.preference_set(made, attribute, value), "cublasLtMatmulPreferenceSetAttribute",
               object, where);
  std::vector<blas_algorithm> found(most);
  int count = 0;
  const int status = calls.heuristic(library_->handle(), descriptors(by_addresses), made, found, count);
  if ((request_.epilogue != blas_epilogue::none || by_addresses) && does_not_run(status)) return;
  check_blas(calls, status, "cublasLtMatmulAlgoGetHeuristic", object, where);
  found.resize(static_cast<std::size_t>(count));
  for (blas_algorithm& x : found) {
    x.by_addresses = by_addresses;
    if (x.workspace <= workspace) to.push_back(x);
  }
}

void blas_call::refuse(std::size_t workspace) const {
  throw error("blas: cuBLASLt runs no algorithm within " + std::to_string(workspace) +
              " bytes of workspace for the product " + text_of(product_) +
              (is_8_bit_float(product_.a.type)
                   ? "; of 8-bit floats a device of compute capability 8.9 or later "
                     "has products"
                   : ""));
}

blas_choice blas_call::choose(blas_choices& choices, std::size_t workspace, std::source_location where) {
  const blas_choice made = try_choose(choices, workspace, where);
  if (made == blas_choice::none) refuse(workspace);
  return made;
}

blas_choice blas_call::try_choose(blas_choices& choices, std::size_t workspace, std::source_location where) {
  if (product_.calls() == 0 || take(choices.find(key_), workspace, where)) return blas_choice::recorded;
  if (!take(choices.find_guess(key_), workspace, where)) {
    // By addresses only what a clock has seen run: cuBLASLt names more algorithms than it runs.
    std::vector<blas_algorithm> found;
    if (product_.calls() <= most_calls) add_candidates(false, workspace, 1, found, where);
    if (found.empty()) return blas_choice::none;
    algorithm_ = found[0];
    chosen_ = true;
    choices.set_guess(key_, algorithm_);
  }
  return choices.find(key_) == nullptr ? blas_choice::guessed : blas_choice::replaced;
}

blas_choice blas_call::try_choose_by_time(blas_choices& choices, const stream& on, const blas_operands& with,
                                          double alpha, double beta, void* workspace,
                                          std::size_t workspace_bytes, std::size_t candidates,
                                          std::source_location where) {
  if (product_.calls() == 0 || take(choices.find(key_), workspace_bytes, where)) return blas_choice::recorded;
  const std::vector<blas_algorithm> found = find_candidates(workspace_bytes, candidates, where);
  if (found.empty()) return blas_choice::none;
  const std::vector<float> time = time_in_turns(
      on, found.size(),
      [&](std::size_t i) {
        const int status = try_run(on, with, alpha, beta, workspace, found[i], where);
        if (!does_not_run(status))
          check_blas(library_->calls(), status, "cublasLtMatmul", text_of(product_), where);
        return status == 0;
      },
      where);
  const auto best = std::min_element(time.begin(), time.end());
  if (!(*best < std::numeric_limits<float>::infinity())) return blas_choice::none;
  const bool replaces = choices.find(key_) != nullptr;
  algorithm_ = found[static_cast<std::size_t>(best - time.begin())];
  chosen_ = true;
  choices.set(key_, algorithm_);
  return replaces ? blas_choice::replaced : blas_choice::made;
}

int blas_call::try_run(const stream& on, const blas_operands& with, double alpha, double beta,
                       void* workspace, const blas_algorithm& algorithm, std::source_location where) {
  blas_calls& calls = library_->calls();
  if (has_bias(request_.epilogue))
    set(descriptor_attribute::bias, reinterpret_cast<std::intptr_t>(with.bias), where);
  if (has_auxiliary(request_.epilogue))
    set(descriptor_attribute::aux, reinterpret_cast<std::intptr_t>(with.aux), where);
  // A kernel that meets an address it cannot take would end the process.
  const auto check_address = [&](const void* p, std::uint64_t align, const char* of) {
    if (reinterpret_cast<std::uintptr_t>(p) % align != 0)
      throw error("blas: " + std::string(of) + " does not lie at a multiple of " + std::to_string(align) +
                  " bytes, for the product " + text_of(product_));
  };
  if (has_bias(request_.epilogue)) check_address(with.bias, request_.align_bias, "a bias");
  if (has_auxiliary(request_.epilogue)) check_address(with.aux, request_.align_aux, "an auxiliary matrix");
  for (std::uint8_t i = 0; i < request_.factors; ++i) {
    check_address(with.factors[i], factor_alignment, "a factor");
    set(factor_attributes[i], reinterpret_cast<std::intptr_t>(with.factors[i]), where);
  }

  // [0] alpha, [1] beta, [2] one, for the calls that add to what is there
  const double f64_scales[] = {alpha, beta, 1};
  const float f32_scales[] = {static_cast<float>(alpha), static_cast<float>(beta), 1};
  const auto scale = [&](std::size_t i) -> const void* {
    return product_.scale == dtype::f64 ? static_cast<const void*>(f64_scales + i) : f32_scales + i;
  };
  const void* const a = product_.swapped ? with.b : with.a;
  const void* const b = product_.swapped ? with.a : with.b;
  const void* const added = with.added == nullptr ? with.result : with.added;
  const void* const addresses[] = {a, b, with.result, added};
  for (std::size_t i = 0; i < 4; ++i)
    check_address(addresses[i], align_[std::min<std::size_t>(i, 2)], "an operand");
  if (algorithm.by_addresses) {
    if (with.addresses == nullptr)
      throw error("blas: there is no room for the addresses of the product " + text_of(product_));
    const auto bytes = [](const void* p) { return static_cast<std::byte*>(const_cast<void*>(p)); };
    const batch_addresses arrays{product_,           bytes(a),     bytes(b),
                                 bytes(with.result), bytes(added), static_cast<std::byte**>(with.addresses)};
    write_addresses(arrays, on.handle());
    on.check_launch("the kernel that writes a batch's addresses", where);
    int status = 0;
    for (std::uint64_t sum = 0; sum < blas_product::size_of(product_.outer_k) && status == 0; ++sum)
      status = calls.matmul(library_->handle(), descriptors(true),
                            {scale(0), arrays.of_a(sum), arrays.of_b(sum), scale(sum == 0 ? 1 : 2),
                             sum == 0 ? arrays.of_added() : arrays.of_result(), arrays.of_result(), workspace,
                             static_cast<std::size_t>(algorithm.workspace)},
                            algorithm, on.handle());
    return status;
  }
  int status = 0;
  product_.for_each_call([&](std::ptrdiff_t to_a, std::ptrdiff_t to_b, std::ptrdiff_t to_c, bool begins) {
    if (status != 0) return;
    auto* const d = const_cast<void*>(advance(with.result, to_c, product_.c.type));
    status = calls.matmul(library_->handle(), descriptors(false),
                          {scale(0), advance(a, to_a, product_.a.type), advance(b, to_b, product_.b.type),
                           scale(begins ? 1 : 2), begins ? advance(added, to_c, product_.c.type) : d, d,
                           workspace, static_cast<std::size_t>(algorithm.workspace)},
                          algorithm, on.handle());
  });
  return status;
}

void blas_call::run(const stream& on, const blas_operands& with, double alpha, double beta, void* workspace,
                    std::source_location where) {
  if (product_.calls() == 0) return;
  if (!chosen_) throw error("blas: choose an algorithm before running the product " + text_of(product_));
  const int status = try_run(on, with, alpha, beta, workspace, algorithm_, where);
  if (status != 0) check_blas(library_->calls(), status, "cublasLtMatmul", text_of(product_), where);
}

}  // namespace napkin::on_cuda
