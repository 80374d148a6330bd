# The steps of the package test; each prints what it does and stops the test where it fails.
function(run)
  string(JOIN " " line ${ARGV})
  message(STATUS "${line}")
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(here "${CMAKE_CURRENT_LIST_DIR}")
file(REMOVE_RECURSE "${scratch_dir}")
run("${CMAKE_COMMAND}" --install "${build_dir}" --prefix "${scratch_dir}/prefix")
run("${CMAKE_COMMAND}" -S "${here}/outside" -B "${scratch_dir}/build" -G "${generator}"
    "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_CXX_FLAGS=${flags}" -DCMAKE_BUILD_TYPE=None
    "-DCMAKE_PREFIX_PATH=${scratch_dir}/prefix")
run("${CMAKE_COMMAND}" --build "${scratch_dir}/build")
run("${scratch_dir}/build/outside")
