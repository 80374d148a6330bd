// The lecture's rows hold wherever the header compiles.
#include "static/lecture.hpp"
