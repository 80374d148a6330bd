// Matrix products by cuBLASLt: descriptors made once for a planned product, an algorithm chosen once, by the
// clock where a product runs often, then calls that allocate nothing. Which product a contraction is, is
// cuda/blas_plan.hpp's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "napkin/cuda/blas_choices.hpp"
#include "napkin/cuda/handle.hpp"
#include "napkin/cuda/stream.hpp"

namespace napkin::on_cuda {

/// As `report_failure` of cuda/handle.hpp, with cuBLASLt's words.
void report_failure(blas_calls& calls, int status, const char* call) noexcept;

namespace detail {
struct destroy_blas {
  static constexpr const char* name = "cublasLtDestroy";
  static int release(blas_calls& calls, blas_handle x) { return calls.destroy(x); }
};
struct destroy_descriptor {
  static constexpr const char* name = "cublasLtMatmulDescDestroy";
  static int release(blas_calls& calls, blas_descriptor x) { return calls.descriptor_destroy(x); }
};
struct destroy_layout {
  static constexpr const char* name = "cublasLtMatrixLayoutDestroy";
  static int release(blas_calls& calls, blas_layout x) { return calls.layout_destroy(x); }
};
struct destroy_preference {
  static constexpr const char* name = "cublasLtMatmulPreferenceDestroy";
  static int release(blas_calls& calls, blas_preference x) { return calls.preference_destroy(x); }
};
}  // namespace detail

/// cuBLASLt, ready for the device in use. One serves all products; it must outlive them.
class blas_library {
 public:
  explicit blas_library(blas_calls& calls, std::source_location where = std::source_location::current());

  blas_calls& calls() const { return *calls_; }
  blas_handle handle() const { return handle_.get(); }
  /// What a choice of algorithms holds for: "130002\tNVIDIA H200".
  const std::string& identity() const { return identity_; }

 private:
  blas_calls* calls_;
  owned<blas_handle, detail::destroy_blas, blas_calls> handle_;
  std::string identity_;
};

/// What a call needs beside its product.
struct blas_request {
  blas_epilogue epilogue = blas_epilogue::none;
  std::int64_t aux_ld = 0, aux_batch_stride = 0;  // elements, of the auxiliary matrix
  /// Bytes that the operands' addresses are multiples of: powers of two. a, b: the contraction's first and
  /// second.
  std::size_t align_a = 256, align_b = 256, align_c = 256;
  std::size_t align_bias = 256, align_aux = 256;
  bool gives_addresses = false;  // operands have room for arrays of addresses
  std::uint8_t factors = 0;      // numbers on the device that the product is multiplied by; of 8-bit matrices
};

/// Where a call reads and writes, on the device. `a` and `b` are the contraction's first and second operand,
/// whichever is BLAS's A.
struct blas_operands {
  const void *a = nullptr, *b = nullptr;
  void* result = nullptr;
  const void* added = nullptr;  // what beta multiplies, as the result lies; null: the result itself
  void* bias = nullptr;         // the bias, or where its gradient goes
  void* aux = nullptr;          // the GELU's input, written or read
  const void* factors[most_factors] =
      {};                     // as many as the request says: an f32 each, at a multiple of 16 bytes
  void* addresses = nullptr;  // where the request says so: room for product.address_bytes(), aligned to 8
};

/// Where an algorithm came from; `none`: there is none. `guessed`: cuBLASLt names it first, nothing was
/// timed. `replaced`: one was recorded, but cuBLASLt does not run it here (or not within the workspace), so
/// that results may differ in their last bits from the run that recorded it: tell the user.
enum class blas_choice : std::uint8_t { none, recorded, guessed, made, replaced };

/// One planned product, ready to run.
class blas_call {
 public:
  /// Make its descriptors. `error` where the product is not possible or has no such epilogue.
  blas_call(const blas_library& library, const blas_product& product, const blas_request& request = {},
            std::source_location where = std::source_location::current());

  const blas_product& product() const { return product_; }
  /// The library's identity and all of the product that an algorithm depends on.
  const std::string& key() const { return key_; }
  const blas_algorithm& algorithm() const { return algorithm_; }
  const blas_library& blas() const { return *library_; }

  /// Take the algorithm in `choices` if there is one that still runs; else the first of cuBLASLt's candidates
  /// that fit into `workspace` bytes, as a guess, and not by addresses. `error` where there is none.
  blas_choice choose(blas_choices& choices, std::size_t workspace,
                     std::source_location where = std::source_location::current());

  /// As above; none where there is none.
  blas_choice try_choose(blas_choices& choices, std::size_t workspace,
                         std::source_location where = std::source_location::current());

  /// As `choose`, but record the fastest of up to `candidates` of them, and as many by addresses, timed in
  /// calls as `run` makes them, whose results are overwritten. A guess counts for nothing. None where none
  /// runs.
  blas_choice try_choose_by_time(blas_choices& choices, const stream& on, const blas_operands& with,
                                 double alpha, double beta, void* workspace, std::size_t workspace_bytes,
                                 std::size_t candidates = 24,
                                 std::source_location where = std::source_location::current());

  /// Throw the `error` of a product that none of cuBLASLt's algorithms runs within so many bytes.
  [[noreturn]] void refuse(std::size_t workspace) const;

  /// result = alpha * a b + beta * added, with the epilogue, put into the stream. `workspace` is at least the
  /// algorithm's, and no other stream's meanwhile.
  void run(const stream& on, const blas_operands& with, double alpha, double beta, void* workspace,
           std::source_location where = std::source_location::current());

 private:
  template <class Handle, class Release>
  using owned_blas = owned<Handle, Release, blas_calls>;
  using layouts = std::array<owned_blas<blas_layout, detail::destroy_layout>, 3>;

  blas_descriptors descriptors(bool by_addresses) const {
    const layouts& of = by_addresses ? addressed_ : strided_;
    return {operation_.get(), of[0].get(), of[1].get(), of[2].get()};
  }
  bool takes_addresses() const { return addressed_[0].get() != nullptr; }
  /// By addresses: null where this cuBLASLt knows of none.
  layouts make_layouts(bool by_addresses, std::source_location where) const;
  /// Take this one if it is there and runs.
  bool take(const blas_algorithm* known, std::size_t workspace, std::source_location where);
  /// Up to `most` that take addresses, then as many that do not. None where there is none.
  std::vector<blas_algorithm> find_candidates(std::size_t workspace, std::size_t most,
                                              std::source_location where);
  void add_candidates(bool by_addresses, std::size_t workspace, std::size_t most,
                      std::vector<blas_algorithm>& to, std::source_location where);
  int try_run(const stream& on, const blas_operands& with, double alpha, double beta, void* workspace,
              const blas_algorithm& algorithm, std::source_location where);
  void set(descriptor_attribute attribute, std::int64_t value, std::source_location where);

  const blas_library* library_;
  blas_product product_;
  blas_request request_;
  std::string key_;
  std::array<std::uint64_t, 3> align_{};  // bytes, of A, B and C as they stand in the product, in every call
  std::array<std::uint64_t, 3> align_each_{};  // of every matrix of a batch
  owned_blas<blas_descriptor, detail::destroy_descriptor> operation_;
  layouts strided_, addressed_;  // the latter null where there are no arrays of addresses
  blas_algorithm algorithm_;
  bool chosen_ = false;
};

}  // namespace napkin::on_cuda
