// What a program pays before its first line: the umbrella alone.
#include <napkin/napkin.hpp>
