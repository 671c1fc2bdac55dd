/* Opens and closes the device a thousand times: there is an end to open files, so each closing has to be noticed. */
#include "client.h"

int main(void)
{
	/* One that stays open, and one of which only a mapping stays. */
	int kept = open_device(), mapped = open_device();
	CHECK(kept >= 0 && mapped >= 0);
	struct buffer first = new_buffer(kept, 0x4000), second = new_buffer(mapped, 0x4000);
	CHECK(close(mapped) == 0);
	memset(first.map, 1, first.size);
	memset(second.map, 2, second.size);
	for (int cycle = 0; cycle < 1000; cycle++) {
		int fd = open("/dev/accel/accel0", O_RDWR);
		CHECK(fd >= 0);
		struct buffer buffer = new_buffer(fd, 0x4000);
		CHECK(*buffer.map == 0);
		*buffer.map = 3;
		if (cycle % 2) {
			int again = dup(fd);
			CHECK(again >= 0 && close(fd) == 0 && close(again) == 0);
		} else {
			CHECK(close(fd) == 0);
		}
		CHECK(munmap(buffer.map, buffer.size) == 0);
	}
	for (uint64_t at = 0; at < first.size; at++)
		CHECK(first.map[at] == 1 && second.map[at] == 2);
	struct drm_ane_bo_info info = { .handle = first.handle };
	CHECK(ioctl(kept, DRM_IOCTL_ANE_BO_INFO, &info) == 0);
	/* All files that there are but the two, and then none. */
	int opened = 0;
	while (open("/dev/accel/accel0", O_RDWR) >= 0)
		opened++;
	CHECK(errno == EBUSY && opened == 254);
	return 0;
}
