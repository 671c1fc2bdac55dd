/* A program that has nothing to do with the device, or finds that its daemon is gone: bystander [gone] */
#include <stdbool.h>

#include "client.h"

int main(int argc, char **argv)
{
	bool has_device = argc > 1 && strcmp(argv[1], "gone") == 0;
	int fd = has_device ? open_device() : -1, ends[2], bytes;
	CHECK(pipe(ends) == 0 && write(ends[1], "four", 4) == 4);
	errno = ENOTEMPTY;
	CHECK(ioctl(ends[0], FIONREAD, &bytes) == 0 && bytes == 4 && errno == ENOTEMPTY);
	/* DRM's letter, on what is no DRM device. */
	struct version version = { 0 };
	CHECK(ioctl(ends[0], IOCTL_VERSION, &version) == -1 && errno == ENOTTY);
	int null = open("/dev/null", O_RDWR), file = open("/proc/self/exe", O_RDONLY);
	CHECK(null >= 0 && ioctl(null, IOCTL_VERSION, &version) == -1 && errno == ENOTTY);
	CHECK(file >= 0 && ioctl(file, IOCTL_VERSION, &version) == -1 && errno == ENOTTY);
	CHECK(ioctl(-1, IOCTL_VERSION, &version) == -1 && errno == EBADF);
	struct stat stat;
	CHECK(fstat(file, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size > 0);
	CHECK(open("/nonexistent", O_RDONLY) == -1 && errno == ENOENT);
	if (!has_device)
		return 0;

	CHECK(fd >= 0);
	struct buffer buffer = new_buffer(fd, 0x4000);
	buffer.map[1] = 1;
	CHECK(write(STDOUT_FILENO, "ready\n", 6) == 6);
	char line;
	CHECK(read(STDIN_FILENO, &line, 1) >= 0);
	struct drm_ane_bo_info info = { .handle = buffer.handle };
	CHECK(ioctl(fd, DRM_IOCTL_ANE_BO_INFO, &info) == -1 && errno == ENODEV);
	CHECK(open("/dev/accel/accel0", O_RDWR) == -1 && errno == ENODEV);
	/* Memory that is mapped stays. */
	CHECK(buffer.map[1] == 1 && buffer.map[2] == 0);
	return 0;
}
