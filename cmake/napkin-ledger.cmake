# napkin_ledger(<target> <step>... HEADER <header> [FILE <file>])
#
# What training steps cost, as a small sorted text file that a project commits. <step> is the C++ name of a
# train_step that <header> declares; <header> is compiled as <target>'s sources are. FILE is by default
# <target>.ledger beside the CMakeLists.txt. From then on
#   building <target>                fails where a cost differs from the file, and says which lines
#   building <target>_ledger_update  writes the file
# The numbers are constants that the compiler leaves in an object file, where CMake reads them: nothing is run,
# and a cross-compiler will do.
function(napkin_ledger target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER;FILE" "")
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "napkin_ledger: '${target}' is no target")
  elseif(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "napkin_ledger(${target} <step>... HEADER <header>): no step is named")
  elseif(NOT arg_HEADER)
    message(FATAL_ERROR "napkin_ledger(${target} <step>... HEADER <header>): HEADER is missing")
  endif()
  if(NOT arg_FILE)
    set(arg_FILE "${target}.ledger")
  endif()
  cmake_path(ABSOLUTE_PATH arg_HEADER BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  cmake_path(ABSOLUTE_PATH arg_FILE BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")

  set(text "#include \"${arg_HEADER}\"\n#include <napkin/train/ledger.hpp>\n")
  set(number 0)
  foreach(step IN LISTS arg_UNPARSED_ARGUMENTS)
    string(APPEND text "NAPKIN_LEDGER(napkin_ledger_${number}, \"${step}\", ${step})\n")
    math(EXPR number "${number} + 1")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}_ledger.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "${text}" @ONLY)

  set(object "${target}_ledger_object")
  add_library("${object}" OBJECT "${source}")
  foreach(property IN ITEMS INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS COMPILE_FEATURES LINK_LIBRARIES)
    set_target_properties("${object}" PROPERTIES "${property}" "$<TARGET_PROPERTY:${target},${property}>")
  endforeach()
  target_link_libraries("${object}" PRIVATE napkin::napkin)
  set_target_properties("${object}" PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF EXCLUDE_FROM_ALL ON)
  target_compile_options("${object}" PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-fno-lto>)

  set(compare "${CMAKE_COMMAND}" "-Dobject=$<TARGET_OBJECTS:${object}>" "-Dfile=${arg_FILE}" "-Dtarget=${target}"
              "-Dbuild=${CMAKE_BINARY_DIR}")
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/napkin-compare-ledger.cmake")
  add_custom_target("${target}_ledger" ALL COMMAND ${compare} -P "${script}"
                    COMMENT "Comparing what ${target} costs with its ledger" VERBATIM)
  add_custom_target("${target}_ledger_update" COMMAND ${compare} -Dupdate=ON -P "${script}"
                    COMMENT "Writing what ${target} costs" VERBATIM)
  add_dependencies("${target}_ledger" "${object}")
  add_dependencies("${target}_ledger_update" "${object}")
  add_dependencies("${target}" "${target}_ledger")
endfunction()
