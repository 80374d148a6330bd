// Which instruction is which: its operands that it writes, and the family that it is of.
#include "emulated/instructions.hpp"

#include "emulated/warp.hpp"

namespace napkin::testing::ptx {

bool find(std::span<const std::string_view> p, instruction& i) {
  const bool has_list = p[0] == "ld" || p[0] == "ldmatrix" || p[0] == "mma" ||
                        (p[0] == "mov" && i.text.find('{') < i.text.find(','));
  i.writes = has_list ? i.count : 1;
  if (p[0] == "shfl" && i.text.find('|') != i.text.npos) i.writes = 2;
  if (p[0] == "st" || p[0] == "cp" || p[0] == "red" || (p[0] == "bar" && p[1] != "red")) i.writes = 0;
  if (p[0] == "ret" || p[0] == "exit") {
    i.what = control::exit;
    return true;
  }
  if (p[0] == "bar" && p.size() == 2 && p[1] == "sync") {  // bar.sync 0: of all threads
    i.what = control::block_barrier;
    return i.x[1] < 0;
  }
  if (p[0] == "bar" && p.size() == 4 && p[1] == "red" && (p[2] == "or" || p[2] == "and")) {
    i.what = p[2] == "or" ? control::block_any : control::block_all;  // bar.red.or.pred d, 0, p
    i.x[1] = i.x[2];
    return true;
  }
  if (p[0] == "griddepcontrol" && p.size() == 2) {
    i.writes = 0;
    if (p[1] == "wait") i.run = [](warp& w, const instruction&) { w.wait(); };
    if (p[1] == "launch_dependents") i.run = [](warp&, const instruction&) {};
    return i.run != nullptr;
  }
  i.run = collective(p, i);
  if (i.run == nullptr) i.run = memory_access(p, i);
  if (i.run == nullptr) i.run = arithmetic(p, i);
  return i.run != nullptr;
}

}  // namespace napkin::testing::ptx
