// A GPU that is the host. Stands in for libcudart: what nvcc's code calls to register and launch its kernels,
// which are run from the PTX that it wrote; what CUB asks of a device; and the library's two doors,
// cuda_runtime() and cublas_lt(), whose definitions here come before the library's.
#include "emulated/device.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "support/fake_blas.hpp"
#include "support/fake_cuda.hpp"
#include "support/instruction_watch.hpp"
#include "support/launch_check.hpp"

namespace napkin::testing {
namespace {

namespace on_cuda = napkin::on_cuda;

ptx::global_memory& memory() {
  static ptx::global_memory all;
  return all;
}

/// The fake's memory and streams, its memory watched.
class device final : public fake_cuda {
 public:
  int malloc(void*& at, std::size_t bytes) override {
    const int error = fake_cuda::malloc(at, bytes);
    if (error == 0) memory().add(at, bytes);
    return error;
  }
  int free(void* at) override {
    const int error = fake_cuda::free(at);
    memory().remove(at);
    return error;
  }
  /// What a clock is given, as algorithms are chosen, reads what happens to lie there.
  int event_create(on_cuda::event_handle& made, bool times) override {
    if (times) memory().set_all_written();
    return fake_cuda::event_create(made, times);
  }
  int memcpy_async(void* to, const void* from, std::size_t bytes, on_cuda::copy_kind kind,
                   on_cuda::stream_handle on) override {
    const int error = fake_cuda::memcpy_async(to, from, bytes, kind, on);
    launch(on, [=] { memory().set_written(to, bytes); });
    return error;
  }
  int memset_async(void* to, int value, std::size_t bytes, on_cuda::stream_handle on) override {
    const int error = fake_cuda::memset_async(to, value, bytes, on);
    launch(on, [=] { memory().set_written(to, bytes); });
    return error;
  }
};

device& here() {
  static device d;
  return d;
}

/// As a device: nothing can be done after it.
[[noreturn]] void refuse(const std::string& what) {
  std::cerr << what << std::endl;
  std::abort();
}

/// Of plans: what an instruction does to memory that is not its own, and what it reads where nothing lives.
instruction_watch& watch() {
  static instruction_watch w(here());
  w.found = &refuse;
  w.poisoned = [](std::byte* at, std::size_t bytes) { memory().forget(at, bytes); };
  return w;
}

// ---- kernels

/// What all launches of each kernel did: a line each goes to the file that NAPKIN_COUNTS names.
class launches {
 public:
  std::size_t own = 0;  // not CUB's

  void add(const std::string& kernel, const ptx::counts& x) {
    ++all_[kernel].first;
    own += kernel.find("3cub") == kernel.npos;
    all_[kernel].second += x;
    since_[kernel] += x;
  }
  ptx::counts since(std::string_view of) {
    ptx::counts sum;
    for (const auto& [kernel, x] : since_)
      if (kernel.find(of) != kernel.npos) sum += x;
    since_.clear();
    return sum;
  }
  ~launches() {
    const char* const to = std::getenv("NAPKIN_COUNTS");
    if (to == nullptr) return;
    std::ofstream out(to);
    out << "launches instructions load_bytes load_sectors store_bytes store_sectors shared_wavefronts least "
           "kernel\n";
    for (const auto& [kernel, x] : all_)
      out << x.first << ' ' << x.second.instructions << ' ' << x.second.load_bytes << ' '
          << x.second.load_sectors << ' ' << x.second.store_bytes << ' ' << x.second.store_sectors << ' '
          << x.second.shared_wavefronts << ' ' << x.second.least_wavefronts << ' ' << kernel << '\n';
  }

 private:
  std::map<std::string, std::pair<std::uint64_t, ptx::counts>> all_;
  std::map<std::string, ptx::counts> since_;
};
launches& counted() {
  static launches all;
  return all;
}

fake_blas& library() {
  static fake_blas all(here());
  return all;
}

struct registered {
  const char* name;
  const void* image;
};
std::map<const void*, registered>& by_function() {
  static std::map<const void*, registered> all;
  return all;
}

// CUDA's fat binaries: a header, and entries, PTX or machine code, of which each says its kind, size and processor.
struct fat_wrapper {
  std::uint32_t magic, version;
  const std::byte* data;
  void* unused;
};
struct fat_header {
  std::uint32_t magic;
  std::uint16_t version, header_size;
  std::uint64_t size;
};
struct fat_entry {
  std::uint16_t kind, version;
  std::uint32_t header_size;
  std::uint64_t size;
  std::uint32_t compressed_size, options;
  std::uint16_t minor, major;
  std::uint32_t architecture;
};
const ptx::module& module_of(const void* image) {
  static std::map<const void*, ptx::module> all;
  if (const auto found = all.find(image); found != all.end()) return found->second;
  const std::byte* at = static_cast<const fat_wrapper*>(image)->data;
  const auto& head = *reinterpret_cast<const fat_header*>(at);
  if (head.magic != 0xba55ed50u) throw std::runtime_error("emulated: not a fat binary");
  const std::byte* const end = at + head.header_size + head.size;
  for (at += head.header_size; at < end;) {
    const auto& entry = *reinterpret_cast<const fat_entry*>(at);
    if (entry.kind == 1 && entry.architecture == 90) {
      if (entry.compressed_size != 0)
        throw std::runtime_error("emulated: the PTX is compressed (nvcc --no-compress)");
      std::string_view text(reinterpret_cast<const char*>(at + entry.header_size), entry.size);
      return all.emplace(image, ptx::read(text.substr(0, text.find('\0')))).first->second;
    }
    at += entry.header_size + entry.size;
  }
  throw std::runtime_error("emulated: a fat binary without PTX for sm_90");
}
const ptx::kernel& kernel_of(const void* function) {
  const registered& r = by_function().at(function);
  const ptx::module& m = module_of(r.image);
  const auto found = m.kernels.find(std::string_view(r.name));
  if (found == m.kernels.end()) throw std::runtime_error(std::string("emulated: no kernel ") + r.name);
  return found->second;
}

void launch(const void* function, dim3 blocks, dim3 threads, void** arguments, std::size_t shared,
            cudaStream_t on) {
  const ptx::kernel& k = kernel_of(function);
  if (!k.waits && k.name.find("7on_cuda") != k.name.npos)
    refuse(k.name + ": a kernel of ours that does not wait for earlier ones");
  std::vector<std::byte> parameters(k.parameter_bytes);
  for (std::size_t p = 0; p < k.parameters.size(); ++p)
    std::memcpy(parameters.data() + k.parameters[p].offset, arguments[p], k.parameters[p].size);
  const ptx::grid g{{blocks.x, blocks.y, blocks.z}, {threads.x, threads.y, threads.z}, shared};
  auto run = [&k, g, parameters] {
    try {
      counted().add(k.name, ptx::run(k, g, parameters, memory()));
    } catch (const std::exception& e) {
      refuse(e.what());
    }
  };
  k.waits ? here().launch(on, std::move(run)) : here().launch_of_library(on, std::move(run));
}

[[maybe_unused]] const bool counts_launches = [] {
  launches_so_far = [] { return counted().own + library().ran.size(); };
  return true;
}();

}  // namespace

ptx::counts counts_since(std::string_view of) { return counted().since(of); }
std::size_t watched_instructions() { return watch().instructions; }

}  // namespace napkin::testing

namespace napkin::on_cuda {

void before_instruction(const bound_plan& of, std::size_t i, const stream& on) {
  testing::watch().before(of, i, on.handle());
}
void after_instruction(const bound_plan&, std::size_t i, const stream& on) {
  testing::watch().after(i, on.handle());
}

cuda_calls& cuda_runtime() { return testing::here(); }
blas_calls& cublas_lt() {
  fake_blas& blas = testing::library();
  blas.wrote = [](const void* at, std::size_t bytes) { testing::memory().set_written(at, bytes); };
  return blas;
}

}  // namespace napkin::on_cuda

// ---- libcudart's own names

namespace {
struct configuration {
  dim3 blocks, threads;
  std::size_t shared;
  cudaStream_t on;
};
thread_local std::vector<configuration> configurations;
}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* image) { return new void*(image); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void** handle) { delete handle; }
void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  napkin::testing::by_function()[host] = {name, *handle};
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, std::size_t shared, CUstream_st* on) {
  configurations.push_back({blocks, threads, shared, on});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* blocks, dim3* threads, std::size_t* shared, void* on) {
  const configuration c = configurations.back();
  configurations.pop_back();
  *blocks = c.blocks, *threads = c.threads, *shared = c.shared;
  *static_cast<cudaStream_t*>(on) = c.on;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void** arguments,
                               std::size_t shared, cudaStream_t on) {
  napkin::testing::launch(kernel, blocks, threads, arguments, shared, on);
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* function, dim3 blocks, dim3 threads, void** arguments,
                             std::size_t shared, cudaStream_t on) {
  napkin::testing::launch(function, blocks, threads, arguments, shared, on);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t on) {
  return static_cast<cudaError_t>(napkin::testing::here().memset_async(to, value, bytes, on));
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* to, const void* function) {
  const napkin::testing::ptx::kernel& k = napkin::testing::kernel_of(function);
  *to = {};
  to->ptxVersion = napkin::testing::said_ptx_version, to->binaryVersion = 90;
  to->maxThreadsPerBlock = static_cast<int>(k.max_threads);
  to->sharedSizeBytes = k.shared_bytes;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int threads,
                                                                   std::size_t, unsigned) {
  *blocks = 2048 / threads;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:  // 8.9: of 9.0 there are kernels in sm_90a's machine code alone
      *value = 8;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 9;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = 132;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = napkin::testing::shared_of_multiprocessor;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = 232448;
      return cudaSuccess;
    default:
      *value = 0;
      return cudaErrorInvalidValue;
  }
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorFake"; }
const char* cudaGetErrorString(cudaError_t) { return "as the emulated device says"; }

}  // extern "C"
