# Finds oneDNN: oneDNN_FOUND, oneDNN_VERSION, oneDNN_CPU_RUNTIME (OMP, SEQ, TBB, ...) and the target
# oneDNN::dnnl. Looks for the header and the library alone: the package file that Debian ships with oneDNN
# also wants OpenCL's headers, which its C++ interface on the CPU does not need.
find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(oneDNN_LIBRARY dnnl)

set(oneDNN_VERSION "")
if(oneDNN_INCLUDE_DIR AND EXISTS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h")
  file(STRINGS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" version_lines
       REGEX "^#define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  foreach(line IN LISTS version_lines)
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND version_numbers "${number}")
  endforeach()
  list(JOIN version_numbers "." oneDNN_VERSION)
endif()

set(oneDNN_CPU_RUNTIME "")
if(oneDNN_INCLUDE_DIR AND EXISTS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_config.h")
  file(STRINGS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_config.h" runtime_line
       REGEX "^#define DNNL_CPU_THREADING_RUNTIME +DNNL_RUNTIME_[A-Z]+")
  string(REGEX MATCH "[A-Z]+$" oneDNN_CPU_RUNTIME "${runtime_line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(oneDNN REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR
                                  VERSION_VAR oneDNN_VERSION)
mark_as_advanced(oneDNN_INCLUDE_DIR oneDNN_LIBRARY)

if(oneDNN_FOUND AND NOT TARGET oneDNN::dnnl)
  add_library(oneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(oneDNN::dnnl PROPERTIES IMPORTED_LOCATION "${oneDNN_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${oneDNN_INCLUDE_DIR}")
endif()
